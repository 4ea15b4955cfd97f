; Scopes
(source_file) @local.scope.function
[
  (function_declaration)
  (method_declaration)
  (func_literal)
] @local.scope.function
[
  (block)
  (if_statement)
  (for_statement)
  (expression_switch_statement)
  (type_switch_statement)
  (expression_case)
  (default_case)
  (type_case)
  (communication_case)
  (function_type)
  (method_elem)
  (type_spec)
] @local.scope
(type_spec type: (struct_type (field_declaration_list (field_declaration !name type: (type_identifier) @local.base)))) @local.scope.class
(type_spec) @local.scope.class
(method_declaration
  receiver: (parameter_list (parameter_declaration
    type: [
      (type_identifier) @local.named
      (pointer_type (type_identifier) @local.named)
      (generic_type type: (type_identifier) @local.named)
      (pointer_type (generic_type type: (type_identifier) @local.named))
    ]))) @local.scope.class

; Inside the extent of a scope, but resolved outside of it.
(function_declaration name: (_) @local.outer)
(type_spec name: (_) @local.outer)
(range_clause right: (_) @local.outer)

; Definitions
(function_declaration name: (identifier) @local.definition.function)
(method_declaration name: (field_identifier) @local.definition.member)
(method_elem name: (field_identifier) @local.definition.member)
(field_declaration name: (field_identifier) @local.definition.member type: (_) @local.type)
(type_spec name: (type_identifier) @local.definition.class)
(type_alias name: (type_identifier) @local.definition.class)
(type_parameter_declaration name: (identifier) @local.definition.parameter)
(parameter_declaration name: (identifier) @local.definition.parameter type: (_) @local.type)
(variadic_parameter_declaration name: (identifier) @local.definition.parameter)
(source_file (var_declaration (var_spec name: (identifier) @local.definition.variable)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @local.definition.variable))))
(source_file (const_declaration (const_spec name: (identifier) @local.definition.variable)))
(block (statement_list (var_declaration (var_spec
  name: (identifier) @local.definition.variable type: (_)? @local.type) @local.from)))
(block (statement_list (var_declaration (var_spec_list (var_spec name: (identifier) @local.definition.variable) @local.from))))
(block (statement_list (const_declaration (const_spec name: (identifier) @local.definition.variable) @local.from)))
(short_var_declaration left: (expression_list . (identifier) @local.definition.variable) right: (expression_list . (_) @local.value)) @local.from
(short_var_declaration left: (expression_list (identifier) @local.definition.variable)) @local.from
(range_clause left: (expression_list (identifier) @local.definition.variable) ":=") @local.from
(receive_statement left: (expression_list (identifier) @local.definition.variable) ":=") @local.from
(type_switch_statement alias: (expression_list (identifier) @local.definition.variable))
(import_spec name: (package_identifier) @local.definition.alias)
(import_spec !name path: (_ (interpreted_string_literal_content) @local.definition.module))

; References
(identifier) @local.reference
(type_identifier) @local.reference
(package_identifier) @local.reference
(package_clause (package_identifier) @local.other)
(qualified_type name: (type_identifier) @local.other)

; Names that are looked up in something, not in a scope.
(selector_expression operand: (_) @local.holder field: (field_identifier) @local.member)
(composite_literal
  type: [(type_identifier) @local.named (generic_type type: (type_identifier) @local.named)]
  body: (literal_value (keyed_element key: (literal_element (identifier) @local.member))))
(composite_literal
  type: [
    (slice_type element: (type_identifier) @local.named)
    (array_type element: (type_identifier) @local.named)
    (map_type value: (type_identifier) @local.named)
  ]
  body: (literal_value
    (_ (literal_value (keyed_element key: (literal_element (identifier) @local.member))))))
(composite_literal
  type: [
    (slice_type element: (type_identifier) @local.named)
    (array_type element: (type_identifier) @local.named)
    (map_type value: (type_identifier) @local.named)
  ]
  body: (literal_value (keyed_element
    value: (_ (literal_value (keyed_element key: (literal_element (identifier) @local.member)))))))
; A field of a struct, or a key of a map: only the type tells, and it may be declared elsewhere.
(keyed_element key: (literal_element (identifier) @local.unsure))
(composite_literal
  type: [(map_type) (slice_type) (array_type) (implicit_length_array_type)]
  body: (literal_value (keyed_element key: (literal_element (identifier) @local.certain))))
((composite_literal
  type: [
    (struct_type)
    (qualified_type)
    (slice_type element: (struct_type))
    (slice_type element: (pointer_type (struct_type)))
    (map_type value: (struct_type))
  ]
  body: (literal_value (keyed_element key: (literal_element (identifier) @local.other))))
  (#match? @local.other "^[A-Z]"))
(composite_literal
  type: (struct_type)
  body: (literal_value (keyed_element key: (literal_element (identifier) @local.other))))
(composite_literal
  type: (slice_type element: [(struct_type) (pointer_type (struct_type))])
  body: (literal_value
    (literal_element (literal_value (keyed_element key: (literal_element (identifier) @local.other))))))
(composite_literal
  type: (map_type value: [(struct_type) (pointer_type (struct_type))])
  body: (literal_value (keyed_element
    value: (literal_element (literal_value (keyed_element key: (literal_element (identifier) @local.other)))))))
