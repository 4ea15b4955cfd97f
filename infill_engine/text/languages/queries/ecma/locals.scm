; What JavaScript and TypeScript share.

; Scopes
(program) @local.scope.function
[
  (function_declaration)
  (function_expression)
  (generator_function)
  (generator_function_declaration)
  (arrow_function)
  (method_definition)
] @local.scope.function
[
  (statement_block)
  (for_statement)
  (for_in_statement)
  (catch_clause)
  (switch_body)
  (class_declaration)
] @local.scope
(class_body) @local.scope.class
; `this` in a method of an object literal is that object.
(object (method_definition) @local.scope.class)

; Inside the extent of a scope, but resolved outside of it.
(function_declaration name: (_) @local.outer)
(generator_function_declaration name: (_) @local.outer)
(class_declaration name: (_) @local.outer)

; Definitions
(function_declaration name: (identifier) @local.definition.function)
(generator_function_declaration name: (identifier) @local.definition.function)
(function_expression name: (identifier) @local.definition.function)
(lexical_declaration (variable_declarator name: (identifier) @local.definition.variable))
(lexical_declaration (variable_declarator name: (identifier) @local.definition.variable value: (_) @local.value))
(variable_declaration (variable_declarator name: (identifier) @local.definition.hoisted))
(variable_declaration
  (variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @local.definition.hoisted)))
(variable_declaration (variable_declarator name: (array_pattern (identifier) @local.definition.hoisted)))
(arrow_function parameter: (identifier) @local.definition.parameter)
(for_in_statement kind: _ left: (identifier) @local.definition.variable)
(catch_clause parameter: (identifier) @local.definition.variable)
(array_pattern (identifier) @local.definition.variable)
(object_pattern (shorthand_property_identifier_pattern) @local.definition.variable)
(object_pattern (object_assignment_pattern left: (_) @local.definition.variable))
(pair_pattern value: (identifier) @local.definition.variable)
(assignment_pattern left: (identifier) @local.definition.variable)
(rest_pattern (identifier) @local.definition.variable)
(import_clause (identifier) @local.definition.alias)
(namespace_import (identifier) @local.definition.alias)
(import_specifier name: (identifier) @local.definition.import !alias)
(import_specifier alias: (identifier) @local.definition.alias)
(method_definition name: [(property_identifier) (private_property_identifier)] @local.definition.member)

((variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @local.definition.import)
  value: (call_expression function: (identifier) @_required))
  (#eq? @_required "require"))
((variable_declarator
  name: (identifier) @local.definition.alias
  value: (call_expression function: (identifier) @_required))
  (#eq? @_required "require"))

; A pattern in an assignment defines nothing.
(assignment_expression left: [(array_pattern) (object_pattern)] @local.assigned)

; References
(identifier) @local.reference
(shorthand_property_identifier) @local.reference

; Names that are looked up in something, not in a scope.
(object (pair key: (property_identifier) @local.keyword @local.shaped))
(object (shorthand_property_identifier) @local.shaped)
(object_pattern (shorthand_property_identifier_pattern) @local.shaped)
(object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @local.shaped))
(object_pattern (pair_pattern key: (property_identifier) @local.keyword @local.shaped))
(member_expression
  object: (_) @local.holder
  property: [(property_identifier) (private_property_identifier)] @local.member)
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @local.shorthand)
  value: (this) @local.named)
(variable_declarator
  name: (object_pattern (pair_pattern key: (property_identifier) @local.member))
  value: (this) @local.named)
(object (method_definition name: (property_identifier) @local.keyword @local.shaped))
(import_specifier name: (identifier) @local.other alias: (_))
(export_specifier alias: (identifier) @local.other)
(export_statement source: (_)) @local.other
