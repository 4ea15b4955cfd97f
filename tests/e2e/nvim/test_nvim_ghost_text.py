"""Ghost text as it is seen, cycled through, accepted, typed through, dismissed and undone."""

import pytest
from nvim_editor import SCRIPT, Editor, shared


@pytest.mark.parametrize(
    ("marked", "ghost"),
    [
        ("x = │", "alpha(1)"),
        ("f(mid(│), 2)", "first"),
        ("def f():\n    │\n\n\nprint(1)", "one = 1\n    return one"),
        ("a = '😀é' + │", "'ünï' + tail"),
        ("ברכה = 'שלום ' + │  # א", "שם + '!'"),
        ("a = '你好' + │", "'世界'"),
        ("a = '👩‍👩‍👧' + │", "'👍🏽' + tail"),
    ],
)
def test_is_shown_where_accepting_inserts_it(nvim: Editor, marked: str, ghost: str) -> None:
    left, right = marked.split("│")
    nvim.offered(marked, ghost)
    row, column, _ = nvim.mark()
    assert (row, column) == (left.count("\n"), len(left.split("\n")[-1].encode()))
    assert nvim.marked == marked, "showing changes nothing"
    nvim.type("<Tab>")
    nvim.until_marked(f"{left}{ghost}│{right}")
    nvim.type("<Esc>u")
    nvim.until(lambda: nvim.text == left + right)


@pytest.mark.parametrize(
    ("marked", "keys", "ghost", "accepted"),
    [
        ("x = │", "<M-]>", "beta(2, 3) (2/3)", "x = beta(2, 3)│"),
        ("x = │", "<M-]><M-]>", "gamma (3/3)", "x = gamma│"),
        ("x = │", "<M-]><M-]><M-]>", "alpha(1) (1/3)", "x = alpha(1)│"),
        ("x = │", "<M-[>", "gamma (3/3)", "x = gamma│"),
        ("f(mid(│), 2)", "<M-]>", "second (2/2)", "f(mid(second│), 2)"),
    ],
)
def test_cycling(nvim: Editor, marked: str, keys: str, ghost: str, accepted: str) -> None:
    nvim.open(marked)
    nvim.until(nvim.ghost)
    nvim.type(keys)
    nvim.until_ghost(ghost)
    nvim.type("<Tab>")
    nvim.until_marked(accepted)


@pytest.mark.parametrize(
    ("marked", "steps"),
    [
        (
            "x = │",
            [
                ("<M-]>", "x = │", "beta(2, 3) (2/3)"),
                ("<M-w>", "x = beta│", "(2, 3)"),
                ("<M-w>", "x = beta(│", "2, 3)"),
                ("<M-w>", "x = beta(2│", ", 3)"),
                ("<Tab>", "x = beta(2, 3)│", None),
            ],
        ),
        (
            "def f():\n    │\n\n\nprint(1)",
            [
                ("<M-l>", "def f():\n    one = 1│\n\n\nprint(1)", "\n    return one"),
                ("<M-w>", "def f():\n    one = 1\n    return│\n\n\nprint(1)", " one"),
                ("<M-l>", "def f():\n    one = 1\n    return one│\n\n\nprint(1)", None),
            ],
        ),
        ("a = '😀é' + │", [("<M-w>", "a = '😀é' + '│", "ünï' + tail"), ("<M-w>", "a = '😀é' + 'ünï│", "' + tail")]),
        # The rest of the line is not on the way.
        ("f(mid(│), 2)", [("<M-w>", "f(mid(first│), 2)", None)]),
    ],
)
def test_accepting_in_parts(nvim: Editor, marked: str, steps: list[tuple[str, str, str | None]]) -> None:
    nvim.open(marked)
    nvim.until(nvim.ghost)
    seen = [marked]
    for keys, text, ghost in steps:
        nvim.type(keys)
        nvim.until_marked(text)
        nvim.until(lambda ghost=ghost: nvim.ghost() == ghost)
        if text != seen[-1]:
            seen.append(text)
    # Each part is an undo step of its own.
    nvim.type("<Esc>")
    for text in reversed(seen[:-1]):
        nvim.type("u")
        nvim.until(lambda text=text: nvim.text == text.replace("│", ""))


@pytest.mark.parametrize(
    ("typed", "ahead", "watched"),
    [
        (["a"], "x = alpha(1)│", "x = alpha(1)│"),
        (["a", "l"], "x = alpha(1)│", "x = alpha(1)│"),
        (["a", "l", "p", "h", "a", "(", "1"], "x = alpha(1)│", "x = alpha(1)│"),
        (["a", "l", "<BS>", "l"], "x = alpha(1)│", "x = alpha(1)│"),
        # Another candidate is shown once its beginning has been typed; nobody accepts what he has not seen.
        (["b", "e"], "x = be⇥│", "x = beta(2, 3)│"),
        (["a", "l", "p", "h", "a", "(", "1", ")"], "x = alpha(1)⇥│", "x = alpha(1)⇥│"),
        (["z", "z"], "x = zz⇥│", "x = zz⇥│"),
        (["<Left>"], "x =⇥│ ", "x =⇥│ "),
        (["<CR>"], "x = \n⇥│", "x = \n⇥│"),
    ],
)
def test_typing_through(nvim: Editor, typed: list[str], ahead: str, watched: str) -> None:
    """Accepting inserts what is still missing; where nothing fits any more, the key does what it did (types ⇥)."""
    nvim.command("inoremap <Tab> ⇥")
    nvim.offered("x = │", "alpha(1)")
    nvim.type("".join(typed) + "<Tab>")
    nvim.until_marked(ahead)

    nvim.fresh()
    nvim.offered("x = │", "alpha(1)")
    for key in typed:
        before = nvim.marked
        nvim.type(key)
        nvim.until(lambda before=before: nvim.marked != before)
    nvim.type("<Tab>")
    nvim.until_marked(watched)
    nvim.command("iunmap <Tab>")


def test_typing_through_keeps_the_chosen_candidate(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.type("<M-]>")
    nvim.until_ghost("beta(2, 3) (2/3)")
    nvim.type("be")
    nvim.until_marked("x = be│")
    nvim.until(lambda: (nvim.ghost() or "").startswith("ta(2, 3)"))
    nvim.type("<Tab>")
    nvim.until_marked("x = beta(2, 3)│")


def test_the_chosen_candidate_stays_when_it_is_answered_again(nvim: Editor) -> None:
    def answers() -> int:
        return int(nvim.lua("return require('infill.stats').counts().shown"))

    nvim.offered("z = │", "table(1)")
    nvim.type("<M-]>")
    nvim.until_ghost("tail(2) (2/2)")
    before = answers()
    nvim.type("ta")
    nvim.until(lambda: answers() > before)
    nvim.until_ghost("il(2) (2/2)")


def test_dismissing(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.type("<C-]>")
    nvim.until_ghost(None)
    assert nvim.marked == "x = │"
    nvim.type("<BS><BS>= ")  # the same place
    nvim.until(lambda: nvim.status() == "infill silent: dismissed here")
    nvim.type("al")
    nvim.until_marked("x = al│")
    nvim.until(lambda: nvim.status() == "infill silent: dismissed here")
    assert nvim.ghost() is None
    assert "You dismissed the suggestion" in nvim.command("Infill")
    nvim.type("<CR>x = ")
    nvim.until_ghost("alpha(1)")


def test_tab_in_the_indentation_indents(nvim: Editor) -> None:
    """Where the text begins with its indentation, <Tab> types that first."""
    nvim.open("if w:\n│\n")
    nvim.command("setlocal expandtab shiftwidth=4 softtabstop=4")
    nvim.until_ghost("    one()")
    nvim.type("<Tab>")
    nvim.until_marked("if w:\n    │")
    nvim.until_ghost("one()")
    nvim.type("<Tab>")
    nvim.until_marked("if w:\n    one()│")


def test_keys_do_what_they_did_when_nothing_is_shown(nvim: Editor) -> None:
    nvim.command("inoremap <M-w> mapped")
    nvim.command("inoremap <expr> <M-l> 1 + 1")
    nvim.open("nothing here│", "notes.txt")
    nvim.command("setlocal noexpandtab")
    nvim.type("<Tab><M-w><M-l>")
    nvim.until_marked("nothing here\tmapped2│")
    nvim.type("<Esc>")
    nvim.command("iunmap <M-w>")
    nvim.command("iunmap <M-l>")


@pytest.mark.parametrize(
    ("mapping", "typed"),
    [
        ("inoremap <expr> <M-w> pumvisible() ? '<C-n>' : '<Tab>'", "\t"),
        ('inoremap <expr> <M-w> "\\<Tab>–\\<C-v>u2192\\<Left>"', "\t–│→"),
        ("inoremap <expr> <M-w> 'a – <lt>b'", "a – <b"),
        ("inoremap <expr> <M-w> 'a <lt>Tab>'", "a <Tab>"),
        ("inoremap <M-w> – <lt>Tab><Left>", "– <Tab│>"),
        ("imap <M-w> <Plug>(other)", "other"),
        ("imap <expr> <M-w> '<Plug>(other)'", "other"),
        # What a mapping begins with is not mapped by it again.
        ("imap <M-w> <M-w><BS><Plug>(other)", "other"),
        ("imap <expr> <M-w> '<M-w><BS><Plug>(other)'", "other"),
        ("lua vim.keymap.set('i', '<M-w>', function() return '<Tab>–' end, { expr = true })", "\t–"),
        (
            "lua vim.api.nvim_set_keymap('i', '<M-w>', '', { expr = true, callback = function() return '<Tab>–' end })",
            "<Tab>–",
        ),
        ("lua vim.keymap.set('i', '<M-w>', [['<Tab>' .. '<lt>Tab>']], { expr = true })", "\t\t"),
        ("lua vim.keymap.set('i', '<M-w>', function() vim.api.nvim_put({ 'put' }, 'c', false, true) end)", "put"),
    ],
)
@pytest.mark.parametrize("ours", [False, True])
def test_a_key_without_ghost_text_is_the_mapping_it_hides(nvim: Editor, mapping: str, typed: str, ours: bool) -> None:
    """Also without our keys, to know that it is Neovim which says so."""
    nvim.command("inoremap <Plug>(other) other")
    nvim.command(mapping)
    nvim.open("nothing│", "notes.txt")
    if not ours:
        nvim.lua("require('infill.keys').remove_all(vim.api.nvim_get_current_buf())")
    nvim.type("<M-w>")
    nvim.until_marked("nothing" + (typed if "│" in typed else typed + "│"))
    nvim.type("<Esc>")
    nvim.command("iunmap <M-w>")


def test_leaving_insert_mode_takes_it_away(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.type("<Esc>")
    nvim.until_ghost(None)


def test_repeated_accepting_is_one_undo_step_each(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.type("<Tab>")
    nvim.until_marked("x = alpha(1)│")
    nvim.type("<CR>y = ")
    nvim.until_ghost("other")
    nvim.type("<Tab>;<Esc>")
    for text in ("x = alpha(1)\ny = other;", "x = alpha(1)\ny = other", "x = alpha(1)\ny = ", "x = alpha(1)", "x = "):
        nvim.until(lambda text=text: nvim.text == text)
        nvim.type("u")


without_keys = shared({"keys": False, "settings": {"budgetMs": 5000}}, SCRIPT)


@pytest.mark.parametrize("typed", ["a", "al", "be", "z"])
def test_neovims_own_accepting_leaves_nothing_behind(without_keys: Editor, typed: str) -> None:
    """Mapped as its documentation has it, and pressed before Neovim has noticed what was typed."""
    nvim = without_keys
    nvim.fresh()
    nvim.lua("""
        vim.keymap.set('i', '<Tab>', function()
          if not vim.lsp.inline_completion.get() then
            return '⇥'
          end
        end, { expr = true })""")
    nvim.offered("x = │", "alpha(1)")
    nvim.type(f"{typed}<Tab>")
    nvim.until_marked("x = alpha(1)│" if typed.startswith("a") else f"x = {typed}⇥│")
    nvim.type("<Esc>")
    nvim.command("checkhealth infill")
    assert "Infill works around this" in nvim.text


def test_neovims_own_functions_are_right_too(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    nvim.lua("vim.lsp.inline_completion.select({ count = 2 })")
    nvim.until_ghost("gamma (3/3)")
    nvim.type("ga")
    nvim.until_marked("x = ga│")
    nvim.until(lambda: (nvim.ghost() or "").startswith("mma"))
    nvim.lua("vim.lsp.inline_completion.get()")
    nvim.until_marked("x = gamma│")
