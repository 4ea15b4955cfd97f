-- Sourced at start. It defines a command and a few autocommands, which load everything else when needed.
require('infill.hooks').create()
