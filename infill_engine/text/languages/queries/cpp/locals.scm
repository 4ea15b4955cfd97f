; inherits: c

; Scopes. Functions see the members of their classes, also those that are defined outside of them.
[
  (namespace_definition)
  (class_specifier body: (_))
] @local.scope.open
(class_specifier (base_class_clause (type_identifier) @local.base) body: (_)) @local.scope.open
(struct_specifier (base_class_clause (type_identifier) @local.base) body: (_)) @local.scope.open
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier
    scope: [(namespace_identifier) @local.named (template_type name: (type_identifier) @local.named)]))) @local.scope.open
(function_definition declarator: (_ (function_declarator
  declarator: (qualified_identifier
    scope: [(namespace_identifier) @local.named (template_type name: (type_identifier) @local.named)])))) @local.scope.open
(lambda_expression) @local.scope.function
[
  (template_declaration)
  (for_range_loop)
  (if_statement)
  (while_statement)
  (switch_statement)
  (catch_clause)
] @local.scope
(declaration (function_declarator parameters: (_) @local.scope))
(field_declaration (reference_declarator (function_declarator parameters: (_) @local.scope)))
(declaration (reference_declarator (function_declarator parameters: (_) @local.scope)))
(class_specifier name: (_) @local.outer body: (_))
(for_range_loop right: (_) @local.outer)
(template_declaration (class_specifier name: (_) @local.outer))
(function_definition declarator: (reference_declarator (function_declarator declarator: (identifier) @local.outer)))

; Definitions
(class_specifier name: (type_identifier) @local.definition.tag body: (_))
(alias_declaration name: (type_identifier) @local.definition.tag)
(type_parameter_declaration (type_identifier) @local.definition.tag)
(function_declarator declarator: (field_identifier) @local.definition.member)
(function_declarator declarator: (qualified_identifier name: (identifier) @local.definition.member))
(field_declaration declarator: (reference_declarator (field_identifier) @local.definition.member))
(optional_parameter_declaration declarator: (identifier) @local.definition.parameter)
(optional_parameter_declaration declarator: (_ declarator: (identifier) @local.definition.parameter))
(optional_parameter_declaration declarator: (reference_declarator (identifier) @local.definition.parameter))
(parameter_declaration
  type: (_) @local.type
  declarator: (reference_declarator (identifier) @local.definition.parameter))
(reference_declarator (identifier) @local.definition.variable @local.from)
(for_range_loop type: (_) @local.type declarator: (identifier) @local.definition.variable)
(for_range_loop type: (_) @local.type declarator: (reference_declarator (identifier) @local.definition.variable))
(structured_binding_declarator (identifier) @local.definition.variable @local.from)
(lambda_capture_initializer left: (identifier) @local.definition.variable)

; A constructor has the name of its class.
(function_definition !type declarator: (function_declarator declarator: (identifier) @local.assigned))
(function_definition !type declarator: (function_declarator declarator: (qualified_identifier name: (identifier) @local.assigned)))
(field_declaration_list (declaration !type declarator: (function_declarator declarator: (identifier) @local.assigned)))
(destructor_name (identifier) @local.reference.type)

; Names that are looked up in something, not in a scope.
(field_initializer . (field_identifier) @local.own)
(qualified_identifier scope: (_) @local.holder name: (identifier) @local.member)
(qualified_identifier name: (type_identifier) @local.other)
(namespace_identifier) @local.reference.any
(namespace_definition name: (_) @local.other)
(using_declaration) @local.unsure
(compound_literal_expression
  type: (type_identifier) @local.named
  value: (initializer_list (initializer_pair designator: (field_designator (field_identifier) @local.member))))
