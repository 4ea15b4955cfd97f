; Scopes
(chunk) @local.scope.function
[
  (function_declaration)
  (function_definition)
] @local.scope.function
[
  (do_statement)
  (while_statement)
  (for_statement)
  (repeat_statement)
  (elseif_statement)
  (else_statement)
] @local.scope
(if_statement consequence: (_) @local.scope)
(function_declaration
  name: (dot_index_expression table: (identifier) @local.named)) @local.scope.class
(function_declaration
  name: (method_index_expression table: (identifier) @local.named)) @local.scope.class

; Inside the extent of a scope, but resolved outside of it.
(for_numeric_clause start: (_) @local.outer)
(for_numeric_clause end: (_) @local.outer)
(for_numeric_clause step: (_) @local.outer)
(for_generic_clause (expression_list) @local.outer)
(function_declaration name: (identifier) @local.outer)
(function_declaration name: (_ table: (_) @local.outer))

; Definitions. A local variable is seen from the statement that follows, a local function in itself.
(variable_declaration (assignment_statement (variable_list name: (identifier) @local.definition.variable))) @local.anew
((variable_declaration (assignment_statement
  (variable_list name: (identifier) @local.definition.alias)
  (expression_list value: (function_call name: (identifier) @_required)))) @local.anew
  (#eq? @_required "require"))
(variable_declaration (variable_list name: (identifier) @local.definition.variable)) @local.anew
(function_declaration "local" name: (identifier) @local.definition.function @local.anew)
(function_declaration . "function" name: (identifier) @local.definition.free)
(function_declaration name: (_ table: (identifier) field: (identifier) @local.definition.member))
(function_declaration name: (_ table: (identifier) method: (identifier) @local.definition.member))
(parameters name: (identifier) @local.definition.parameter)
(for_numeric_clause name: (identifier) @local.definition.variable)
(for_generic_clause (variable_list name: (identifier) @local.definition.variable))
(assignment_statement (variable_list name: (identifier) @local.definition.free))

; References
(identifier) @local.reference

; Names that are looked up in something, not in a scope.
(dot_index_expression table: (_) @local.holder field: (identifier) @local.member)
(method_index_expression table: (_) @local.holder method: (identifier) @local.member)
(field name: (identifier) @local.other)
(attribute (identifier) @local.other)
(goto_statement (identifier) @local.other)
(label_statement (identifier) @local.other)
