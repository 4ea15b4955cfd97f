"""What two editors say about themselves, as they said it on the wire (cut to what concerns a server of ours)."""

NEOVIM = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "textDocument": {
        "inlineCompletion": {"dynamicRegistration": False},
        "synchronization": {"didSave": True, "dynamicRegistration": False, "willSave": True, "willSaveWaitUntil": True},
    },
    "window": {
        "showDocument": {"support": True},
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "workDoneProgress": True,
    },
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": False},
        "workspaceFolders": True,
    },
}

VSCODE = {
    "general": {
        "markdown": {"parser": "marked", "version": "1.1.0"},
        "positionEncodings": ["utf-16"],
        "regularExpressions": {"engine": "ECMAScript", "version": "ES2020"},
        "staleRequestSupport": {"cancel": True, "retryOnContentModified": []},
    },
    "notebookDocument": {"synchronization": {"dynamicRegistration": True, "executionSummarySupport": True}},
    "textDocument": {
        "inlineCompletion": {"dynamicRegistration": True},
        "synchronization": {"didSave": True, "dynamicRegistration": True, "willSave": True, "willSaveWaitUntil": True},
    },
    "window": {
        "showDocument": {"support": True},
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "workDoneProgress": True,
    },
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "workspaceFolders": True,
    },
}

BARE: dict[str, object] = {}
