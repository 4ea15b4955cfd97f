; Scopes. Functions see the members of their classes; a local variable belongs to all of its block.
(compilation_unit) @local.scope.function
[
  (method_declaration)
  (constructor_declaration)
  (local_function_statement)
  (lambda_expression)
  (anonymous_method_expression)
  (operator_declaration)
  (conversion_operator_declaration)
  (indexer_declaration)
  (delegate_declaration)
] @local.scope.function
[
  (block)
  (accessor_declaration)
  (for_statement)
  (foreach_statement)
  (while_statement)
  (using_statement)
  (catch_clause)
  (switch_section)
  (switch_expression_arm)
  (namespace_declaration)
  (class_declaration)
  (struct_declaration)
  (interface_declaration)
  (record_declaration)
] @local.scope
(class_declaration body: (_) @local.scope.open)
(class_declaration (base_list (identifier) @local.base) body: (_) @local.scope.open)
(struct_declaration body: (_) @local.scope.open)
(interface_declaration body: (_) @local.scope.open)
(record_declaration) @local.scope.open
(enum_declaration body: (_) @local.scope.open)

; Inside the extent of a scope, but resolved outside of it.
(class_declaration name: (_) @local.outer)
(struct_declaration name: (_) @local.outer)
(interface_declaration name: (_) @local.outer)
(record_declaration name: (_) @local.outer)
(method_declaration name: (_) @local.outer)
(constructor_declaration name: (_) @local.outer)
(local_function_statement name: (_) @local.outer)
(delegate_declaration name: (_) @local.outer)
(foreach_statement right: (_) @local.outer)

; Definitions
(class_declaration name: (identifier) @local.definition.tag)
(struct_declaration name: (identifier) @local.definition.tag)
(interface_declaration name: (identifier) @local.definition.tag)
(record_declaration name: (identifier) @local.definition.tag)
(enum_declaration name: (identifier) @local.definition.tag)
(delegate_declaration name: (identifier) @local.definition.tag)
(type_parameter name: (identifier) @local.definition.tag)
(method_declaration name: (identifier) @local.definition.member)
(property_declaration type: (_) @local.type name: (identifier) @local.definition.member)
(record_declaration (parameter_list (parameter type: (_) @local.type name: (identifier) @local.definition.member)))
(event_declaration name: (identifier) @local.definition.member)
(enum_member_declaration name: (identifier) @local.definition.member)
(field_declaration (variable_declaration
  type: (_) @local.type (variable_declarator name: (identifier) @local.definition.member)))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @local.definition.member)))
(local_declaration_statement (variable_declaration
  type: (_) @local.type (variable_declarator name: (identifier) @local.definition.variable)))
(variable_declarator
  name: (identifier) @local.definition.variable
  (object_creation_expression) @local.value)
(variable_declarator name: (identifier) @local.definition.variable)
(tuple_pattern name: (identifier) @local.definition.variable)
(foreach_statement type: (_) @local.type left: (identifier) @local.definition.variable)
(catch_declaration name: (identifier) @local.definition.variable)
(declaration_pattern type: (_) @local.type name: (identifier) @local.definition.variable)
(declaration_expression type: (_) @local.type name: (identifier) @local.definition.variable)
(local_function_statement name: (identifier) @local.definition.function)
(parameter type: (_)? @local.type name: (identifier) @local.definition.parameter)
(parameter_list name: (identifier) @local.definition.parameter)
(implicit_parameter) @local.definition.parameter
(using_directive name: (identifier) @local.definition.alias.type)

; Parameters that are seen in the whole class, or are properties too.
(class_declaration (parameter_list (parameter name: (identifier) @local.opaque)))
(struct_declaration (parameter_list (parameter name: (identifier) @local.opaque)))
(query_expression) @local.unsure

; References
(identifier) @local.reference
(_ type: (identifier) @local.reference.type)
(_ returns: (identifier) @local.reference.type)
(base_list (identifier) @local.reference.type)
(type_argument_list (identifier) @local.reference.type)
(generic_name . (identifier) @local.reference.any)
(constructor_declaration name: (identifier) @local.reference.type)
(attribute name: (identifier) @local.reference.type)

; Names that are looked up in something, not in a scope.
(member_access_expression expression: _ @local.holder name: (identifier) @local.member)
(conditional_access_expression
  condition: (_) @local.holder (member_binding_expression name: (identifier) @local.member))
(member_binding_expression name: (identifier) @local.member)
(object_creation_expression
  type: (identifier) @local.named
  initializer: (initializer_expression (assignment_expression left: (identifier) @local.member)))
(initializer_expression (assignment_expression left: (identifier) @local.member))
(anonymous_object_creation_expression (identifier) @local.other . "=")
(subpattern (identifier) @local.member)
(argument name: (identifier) @local.keyword)
(object_creation_expression
  type: (identifier) @local.named
  arguments: (argument_list (argument name: (identifier) @local.keyword)))
(with_expression . (_) @local.holder (with_initializer . (identifier) @local.member))
(namespace_declaration name: (_) @local.other)
(file_scoped_namespace_declaration name: (_) @local.other)
(qualified_name qualifier: (_) name: (identifier) @local.other)
(using_directive (qualified_name) @local.other)
(labeled_statement . (identifier) @local.other)
(goto_statement (identifier) @local.other)
