"""What suggestions may see: the open documents, the files around them, and the settings that apply."""

from dataclasses import dataclass, field

from lsp_server.documents.notebooks import Notebooks
from lsp_server.documents.snapshots import Documents
from lsp_server.project.text import ProjectTexts
from lsp_server.settings.schema import ServerSettings


@dataclass(eq=False, slots=True)
class Workspace:
    """The documents and files of a connection.

    `roots` are the paths of the workspace folders, `indents` a level of indentation of each document whose editor says
    it.
    """

    settings: ServerSettings = field(default_factory=ServerSettings)
    roots: tuple[str, ...] = ()
    documents: Documents = field(default_factory=Documents)
    notebooks: Notebooks = field(init=False)
    indents: dict[str, str] = field(default_factory=dict)
    project: ProjectTexts = field(default_factory=ProjectTexts)

    def __post_init__(self) -> None:
        self.notebooks = Notebooks(self.documents)
