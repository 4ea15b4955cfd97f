; Scopes
(translation_unit) @local.scope.function
(function_definition) @local.scope.function
[
  (compound_statement)
  (for_statement)
] @local.scope
; The names of parameters that have no body to be seen in.
(declaration (function_declarator parameters: (_) @local.scope))
(declaration (_ (function_declarator parameters: (_) @local.scope)))
(field_declaration (function_declarator parameters: (_) @local.scope))
(field_declaration (_ (function_declarator parameters: (_) @local.scope)))
(parameter_declaration declarator: (function_declarator parameters: (_) @local.scope))
(type_definition (function_declarator parameters: (_) @local.scope))
(type_definition (_ (function_declarator parameters: (_) @local.scope)))
(function_declarator declarator: (parenthesized_declarator) parameters: (_) @local.scope)
(struct_specifier body: (_)) @local.scope.open
(union_specifier body: (_)) @local.scope.open
(type_definition
  type: [(struct_specifier body: (_)) (union_specifier body: (_))] @local.scope.open
  declarator: (type_identifier) @local.named)

; Inside the extent of a scope, but resolved outside of it.
(function_definition declarator: (function_declarator declarator: (identifier) @local.outer))
(function_definition declarator: (_ declarator: (function_declarator declarator: (identifier) @local.outer)))
(function_definition declarator: (_ (_ declarator: (function_declarator declarator: (identifier) @local.outer))))
(struct_specifier name: (_) @local.outer body: (_))
(union_specifier name: (_) @local.outer body: (_))

; Definitions
(function_declarator declarator: (identifier) @local.definition.function)
(_ type: (_) @local.type declarator: (function_declarator declarator: (identifier) @local.definition.function))
(_
  type: (_) @local.type
  declarator: (_ declarator: (function_declarator declarator: (identifier) @local.definition.function)))
(function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @local.definition.variable)))
(translation_unit (declaration declarator: (identifier) @local.definition.variable))
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @local.definition.variable)))
(declaration type: (_) @local.type declarator: (identifier) @local.definition.variable @local.from)
(declaration
  type: (_) @local.type
  declarator: (pointer_declarator declarator: (identifier) @local.definition.variable @local.from))
(declaration
  type: (_) @local.type
  declarator: (init_declarator declarator: (identifier) @local.definition.variable @local.from))
(declaration
  type: (_) @local.type
  declarator: (init_declarator
    declarator: (pointer_declarator declarator: (identifier) @local.definition.variable @local.from)))
(init_declarator declarator: (identifier) @local.definition.variable @local.from)
(pointer_declarator declarator: (identifier) @local.definition.variable @local.from)
(array_declarator declarator: (identifier) @local.definition.variable @local.from)
(declaration type: (_) @local.type declarator: (array_declarator declarator: (identifier) @local.definition.variable))
(declaration
  type: (_) @local.type
  declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @local.definition.variable)))
(parameter_declaration type: (_) @local.type declarator: (identifier) @local.definition.parameter)
(parameter_declaration
  type: (_) @local.type
  declarator: (pointer_declarator declarator: (identifier) @local.definition.parameter))
(parameter_declaration
  type: (_) @local.type
  declarator: (array_declarator declarator: (identifier) @local.definition.parameter))
(struct_specifier name: (type_identifier) @local.definition.tag body: (_))
(union_specifier name: (type_identifier) @local.definition.tag body: (_))
(enum_specifier name: (type_identifier) @local.definition.tag body: (_))
(type_definition declarator: (type_identifier) @local.definition.class)
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @local.definition.class))
(enumerator name: (identifier) @local.definition.variable)
(field_declaration type: (_) @local.type declarator: (field_identifier) @local.definition.member)
(field_declaration type: (_) @local.type declarator: (_ declarator: (field_identifier) @local.definition.member))
(field_declaration
  type: (_) @local.type
  declarator: (_ declarator: (_ declarator: (field_identifier) @local.definition.member)))
(preproc_def name: (identifier) @local.definition.variable)
(preproc_function_def name: (identifier) @local.definition.function)

; References
(identifier) @local.reference
(type_identifier) @local.reference
(struct_specifier name: (type_identifier) @local.reference.type)
(union_specifier name: (type_identifier) @local.reference.type)
(enum_specifier name: (type_identifier) @local.reference.type)

; The text of a macro may mean anything that has the name.
(preproc_arg) @local.opaque
(preproc_params (identifier) @local.opaque)

; Names that are looked up in something, not in a scope.
(field_expression argument: (_) @local.holder field: (field_identifier) @local.member)
(field_designator (field_identifier) @local.member)
(init_declarator
  value: (initializer_list (initializer_pair designator: (field_designator (field_identifier) @local.member))))
(declaration
  type: [(type_identifier) @local.named (struct_specifier name: (type_identifier) @local.named)]
  declarator: (init_declarator
    value: (initializer_list (initializer_pair designator: (field_designator (field_identifier) @local.member)))))
(compound_literal_expression
  type: (type_descriptor type: [(type_identifier) @local.named (struct_specifier name: (type_identifier) @local.named)])
  value: (initializer_list (initializer_pair designator: (field_designator (field_identifier) @local.member))))
