"""A name that is used first gets the import that the project's other files have. Edits are written [[old -> new]]."""

from dataclasses import replace

import pytest
from marked_edits import edited, results

from infill_engine.context.project_text import joined
from infill_engine.edits.find import find_consequences
from infill_engine.edits.types import Consequences, EditedText

Files = dict[str, str]

# what, language, path, the other files, the edit, the line that is added and the one above it
ADDED: dict[str, tuple[str, str, Files, str, str]] = {
    "in the order of the others": (
        "python",
        "app/a.py",
        {"b.py": "from pathlib import Path\n", "c.py": "from pathlib import (\n    Path,\n    PurePath,\n)\n"},
        "import os\nimport sys\n\nx = [[n -> Path(n)]]\n",
        "import os\nimport sys\nfrom pathlib import Path\n\nx = Path(n)\n",
    ),
    "in a list": (
        "python",
        "app/a.py",
        {"b.py": "from app.util import load\n"},
        "from app.util import (\n    other,\n)\n\nx = [[n -> load(n)]]\n",
        "from app.util import (\n    other,\n    load,\n)\n\nx = load(n)\n",
    ),
    "with an alias": (
        "python",
        "app/a.py",
        {"b.py": "import numpy as np\n"},
        '"""Doc."""\n\nx = [[n -> np.array(n)]]\n',
        '"""Doc."""\n\nimport numpy as np\n\nx = np.array(n)\n',
    ),
    "relative to the folder": (
        "python",
        "app/web/a.py",
        {"app/b.py": "from .util import load\n", "app/sub/c.py": "from ..util import load\n"},
        "import os\n\nx = [[n -> load(n)]]\n",
        "import os\nfrom ..util import load\n\nx = load(n)\n",
    ),
    "a type": (
        "typescript",
        "src/x.ts",
        {"src/sub/y.ts": "import type { User } from '../types/user';\n"},
        "import { a } from './b';\n\nexport const f = (x: [[string -> User]]) => a(x);\n",
        "import { a } from './b';\nimport type { User } from './types/user';\n\nexport const f = (x: User) => a(x);\n",
    ),
    "a component": (
        "typescriptreact",
        "src/pages/x.tsx",
        {"src/y.tsx": "import Card from './parts/Card';\n"},
        "export const F = () => <p>[[ -> <Card />]]</p>;\n",
        "import Card from '../parts/Card';\n\nexport const F = () => <p><Card /></p>;\n",
    ),
    "a required module": (
        "javascript",
        "x.js",
        {"y.js": "const path = require('path');\n"},
        "const fs = require('fs');\n\nfs.read([[1 -> path.join('a')]]);\n",
        "const fs = require('fs');\nconst path = require('path');\n\nfs.read(path.join('a'));\n",
    ),
    "a name of a module that is imported": (
        "javascript",
        "x.js",
        {"y.js": "import { a, warn } from './log';\n"},
        "import { a } from './log';\n\na([[1 -> warn(1)]]);\n",
        "import { a, warn } from './log';\n\na(warn(1));\n",
    ),
    "a class": (
        "java",
        "a/b/A.java",
        {"a/b/B.java": "package a.b;\n\nimport java.util.HashMap;\n"},
        "package a.b;\n\nimport java.util.Map;\n\nclass A { Map<A, A> m = [[null -> new HashMap<>()]]; }\n",
        "package a.b;\n\nimport java.util.HashMap;\nimport java.util.Map;\n\n"
        "class A { Map<A, A> m = new HashMap<>(); }\n",
    ),
    "a path": (
        "rust",
        "src/a.rs",
        {"src/b.rs": "use std::collections::{BTreeMap, HashMap};\n", "src/c.rs": "use std::collections::HashMap;\n"},
        "//! Doc.\n\nfn f() { let a = [[1 -> HashMap::new()]]; }\n",
        "//! Doc.\n\nuse std::collections::HashMap;\n\nfn f() { let a = HashMap::new(); }\n",
    ),
    "a package": (
        "go",
        "a.go",
        {"b.go": 'package p\n\nimport "math/rand/v2"\n'},
        'package p\n\nimport (\n\t"fmt"\n)\n\nfunc f() { fmt.Println([[1 -> rand.Int()]]) }\n',
        'package p\n\nimport (\n\t"fmt"\n\t"math/rand/v2"\n)\n\nfunc f() { fmt.Println(rand.Int()) }\n',
    ),
    "a name of another namespace": (
        "php",
        "a.php",
        {"b.php": "<?php\nuse App\\Support\\Log;\n"},
        "<?php\n\nnamespace App;\n\nuse App\\Models\\User;\n\n$a = [[1 -> Log::warn(1)]];\n",
        "<?php\n\nnamespace App;\n\nuse App\\Models\\User;\nuse App\\Support\\Log;\n\n$a = Log::warn(1);\n",
    ),
    "a local module": (
        "lua",
        "a.lua",
        {"b.lua": "local json = require('cjson')\n"},
        "local a = require('a')\n\nreturn [[a -> json.decode(a)]]\n",
        "local a = require('a')\nlocal json = require('cjson')\n\nreturn json.decode(a)\n",
    ),
}


def found(language: str, path: str, files: Files, marked: str) -> tuple[EditedText, Consequences]:
    edit = replace(edited(marked, language), path=path, project=joined(files.items()))
    return edit, find_consequences(edit)


@pytest.mark.parametrize("case", ADDED)
def test_the_import_of_the_other_files_is_proposed(case: str) -> None:
    language, path, files, marked, expected = ADDED[case]
    assert results(*found(language, path, files, marked))[:1] == [expected]


SILENT: dict[str, tuple[str, str, Files, str]] = {
    "the files differ": (
        "python",
        "a.py",
        {"b.py": "from x import load\n", "c.py": "from y import load\n"},
        "x = [[n -> load(n)]]\n",
    ),
    "this is the module": ("python", "app/x.py", {"b.py": "from app.x import load\n"}, "x = [[n -> load(n)]]\n"),
    "this is the relative module": ("typescript", "a/x.ts", {"a/b.ts": "import { f } from './x'\n"}, "[[1 -> f()]];\n"),
    "it is a member": ("python", "a.py", {"b.py": "from x import load\n"}, "x = [[n -> n.load()]]\n"),
    "it is defined": ("python", "a.py", {"b.py": "from x import load\n"}, "def f(load): return [[1 -> load(1)]]\n"),
    "it was used before": ("python", "a.py", {"b.py": "from x import load\n"}, "load(1)\nx = [[n -> load(n)]]\n"),
    "it may come from everything": (
        "python",
        "a.py",
        {"b.py": "from x import load\n"},
        "from y import *\nx = [[n -> load(n)]]\n",
    ),
    "it is seen in the package": (
        "java",
        "a/b/A.java",
        {"a/c/C.java": "package a.c;\n\nimport a.b.Tool;\n"},
        "package a.b;\n\nclass A { Object o = [[null -> new Tool()]]; }\n",
    ),
    "a function of the package": (
        "go",
        "a.go",
        {"b.go": 'package p\n\nimport "log"\n'},
        "package p\n\nfunc f() { [[g -> log]](1) }\n",
    ),
    "it stands in a body": (
        "rust",
        "a.rs",
        {"b.rs": "fn f() {\n    use a::B;\n}\n"},
        "fn g() { [[1 -> B::new()]]; }\n",
    ),
}


@pytest.mark.parametrize("case", SILENT)
def test_no_import_is_proposed(case: str) -> None:
    assert found(*SILENT[case])[1].proposals == ()
