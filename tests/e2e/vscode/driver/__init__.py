"""What drives a headless VS Code in the tests: the browser, the workbench, and stand-ins for the server."""
