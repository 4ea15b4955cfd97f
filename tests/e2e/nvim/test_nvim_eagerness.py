"""`:Infill eagerness` in a real Neovim: what it offers, and that it takes effect without a restart."""

import pytest
from nvim_editor import Start

SCRIPT = {"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}]}
# Answers as a user would, and keeps what was offered.
CHOOSE = """
vim.ui.select = function(items, options, done)
  offered = vim.tbl_map(options.format_item, items)
  done(items[...])
end
"""


@pytest.mark.parametrize("command", ["Infill eagerness eager", "Infill eagerness"])
def test_a_level_takes_the_place_of_a_number_at_once(start: Start, command: str) -> None:
    with start({"settings": {"showThreshold": 1}}, SCRIPT) as nvim:
        nvim.lua(CHOOSE.replace("...", "3"))
        nvim.open("x = │")
        nvim.until(lambda: nvim.status() == "infill silent: not sure enough")
        nvim.command(command)
        nvim.until_ghost("alpha(1)")
        assert "eagerness eager" in nvim.command("Infill status")
        nvim.command("Infill eagerness loud")
        told = "no such eagerness: loud; there are quiet, balanced, eager"
        nvim.until(lambda: any(told in message for message in nvim.messages))


def test_each_level_says_what_it_costs(start: Start) -> None:
    with start({"settings": {}}, SCRIPT) as nvim:
        nvim.lua(CHOOSE.replace("...", "1"))
        nvim.lua(
            """
            local client = { request = function(_, method, _, reply)
              asked = method
              local levels = { quiet = { shown = 0.31, wrong = 0.17 }, eager = { shown = vim.NIL } }
              reply(nil, { eagerness = 'quiet', levels = levels })
            end }
            require('infill.eagerness').choose(client, function(level) chosen = level end)
            """
        )
        assert nvim.lua("return {asked, chosen}") == ["infill/getStatus", "quiet"]
        assert nvim.lua("return offered") == [
            "quiet: shown at 31 % of keystrokes, 1 in 6 wrong (now)",
            "balanced",
            "eager",
        ]
