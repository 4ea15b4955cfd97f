-- Sourced at start: a command and a few autocommands, which load the rest when they are needed.
require('infill.hooks').create()
