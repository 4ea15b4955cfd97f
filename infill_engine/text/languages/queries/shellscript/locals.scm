; Scopes. A function has what it declares local, and sees the locals of its callers.
(program) @local.scope.function
(function_definition) @local.scope
(subshell) @local.scope

; Inside the extent of a scope, but resolved outside of it.
(function_definition name: (_) @local.outer)

; Definitions
(function_definition name: (word) @local.definition.routine)
(variable_assignment name: (variable_name) @local.definition.free)
(variable_assignment name: (subscript name: (variable_name) @local.definition.free))
(for_statement variable: (variable_name) @local.definition.free)
((command name: (command_name) @_command argument: (word) @local.definition.free @local.certain)
  (#match? @_command "^(read|mapfile|readarray|getopts)$"))
(function_definition (_ (declaration_command
  ["local" "declare" "typeset"]
  (variable_assignment name: (variable_name) @local.definition.variable))))
(function_definition (_ (declaration_command ["local" "declare" "typeset"] (variable_name) @local.definition.variable)))

; References
(variable_name) @local.reference
(command_name (word) @local.reference.call)

; A function may be handed over by its name, and a variable be set by its name.
(command argument: (word) @local.reference.call @local.unsure)
((command name: (command_name) @_command argument: (word) @local.opaque) (#match? @_command "^(printf|eval|let|trap|export)$"))
((command name: (command_name) @_command argument: [(raw_string) (string)] @local.opaque)
  (#match? @_command "^(eval|trap|let)$"))

; The programs that are started know the variable by its name.
(declaration_command "export" (variable_name) @local.unsure)
