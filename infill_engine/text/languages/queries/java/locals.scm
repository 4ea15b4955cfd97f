; Scopes. Functions see the members of their classes.
(program) @local.scope.function
[
  (method_declaration)
  (constructor_declaration)
  (compact_constructor_declaration)
  (lambda_expression)
] @local.scope.function
[
  (block)
  (for_statement)
  (enhanced_for_statement)
  (catch_clause)
  (try_with_resources_statement)
  (switch_block)
  (switch_rule)
  (class_declaration)
  (interface_declaration)
  (record_declaration)
] @local.scope
(class_declaration body: (_) @local.scope.open)
(class_declaration superclass: (superclass (type_identifier) @local.base) body: (_) @local.scope.open)
(class_declaration interfaces: (_ (type_list (type_identifier) @local.base)) body: (_) @local.scope.open)
(interface_declaration (extends_interfaces (type_list (type_identifier) @local.base)) body: (_) @local.scope.open)
(interface_declaration body: (_) @local.scope.open)
(enum_declaration body: (_) @local.scope.open)
(record_declaration) @local.scope.open
(object_creation_expression (class_body) @local.scope.open)

; Inside the extent of a scope, but resolved outside of it.
(class_declaration name: (_) @local.outer)
(interface_declaration name: (_) @local.outer)
(record_declaration name: (_) @local.outer)
(method_declaration name: (_) @local.outer)
(constructor_declaration name: (_) @local.outer)
(enhanced_for_statement value: (_) @local.outer)

; Definitions
(class_declaration name: (identifier) @local.definition.tag)
(interface_declaration name: (identifier) @local.definition.tag)
(enum_declaration name: (identifier) @local.definition.tag)
(record_declaration name: (identifier) @local.definition.tag)
(annotation_type_declaration name: (identifier) @local.definition.tag)
(type_parameter (type_identifier) @local.definition.tag)
(import_declaration (scoped_identifier name: (identifier) @local.definition.import.type) .)
(method_declaration name: (identifier) @local.definition.method)
(field_declaration type: (_) @local.type declarator: (variable_declarator name: (identifier) @local.definition.member))
(constant_declaration declarator: (variable_declarator name: (identifier) @local.definition.member))
(enum_constant name: (identifier) @local.definition.member)
(local_variable_declaration
  type: (_) @local.type
  declarator: (variable_declarator name: (identifier) @local.definition.variable value: (_)? @local.value) @local.from)
(formal_parameter type: (_) @local.type name: (identifier) @local.definition.parameter)
(record_declaration parameters: (formal_parameters (formal_parameter
  type: (_) @local.type name: (identifier) @local.definition.accessor)))
(spread_parameter (variable_declarator name: (identifier) @local.definition.parameter))
(catch_formal_parameter name: (identifier) @local.definition.variable)
(resource type: (_) @local.type name: (identifier) @local.definition.variable)
(enhanced_for_statement type: (_) @local.type name: (identifier) @local.definition.variable)
(lambda_expression parameters: (identifier) @local.definition.parameter)
(inferred_parameters (identifier) @local.definition.parameter)

; How far a pattern's variable is seen depends on the flow of control.
(instanceof_expression name: (identifier) @local.opaque)
(type_pattern (identifier) @local.opaque)
(record_pattern_component (identifier) @local.opaque)

; References
(identifier) @local.reference
(type_identifier) @local.reference.type
(constructor_declaration name: (identifier) @local.reference.type)
(annotation name: (identifier) @local.reference.type)
(marker_annotation name: (identifier) @local.reference.type)
(method_invocation !object name: (identifier) @local.reference.call)

; Names that are looked up in something, not in a scope.
(method_invocation object: (_) @local.holder name: (identifier) @local.member.call)
(field_access object: (_) @local.holder field: (identifier) @local.member)
(method_reference (_) @local.holder . (identifier) @local.member.call)
(scoped_identifier scope: (_) @local.other)
(annotation name: (scoped_identifier) @local.other)
(marker_annotation name: (scoped_identifier) @local.other)
(scoped_type_identifier (_) (type_identifier) @local.other)
(package_declaration (_) @local.other)
(import_declaration "static" (_) @local.other)
(import_declaration (_) @local.other (asterisk))
(labeled_statement . (identifier) @local.other)
(break_statement (identifier) @local.other)
(continue_statement (identifier) @local.other)
(element_value_pair key: (identifier) @local.other)
