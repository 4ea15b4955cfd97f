; inherits: ecma

[
  (abstract_class_declaration)
  (interface_declaration)
  (type_alias_declaration)
  (function_signature)
  (function_type)
  (method_signature)
  (abstract_method_signature)
  (call_signature)
  (construct_signature)
  (constructor_type)
  (conditional_type)
] @local.scope
(abstract_class_declaration name: (_) @local.outer)
(interface_declaration name: (_) @local.outer)
(type_alias_declaration name: (_) @local.outer)
(function_signature name: (_) @local.outer)
(method_signature name: (_) @local.outer)
(abstract_method_signature name: (_) @local.outer)

(_ (class_heritage (extends_clause value: (identifier) @local.base)) body: (class_body) @local.scope.class)
(class_declaration name: (type_identifier) @local.definition.class)
(abstract_class_declaration name: (type_identifier) @local.definition.class)
(interface_declaration name: (type_identifier) @local.definition.class)
(type_alias_declaration name: (type_identifier) @local.definition.class)
(enum_declaration name: (identifier) @local.definition.class)
(lexical_declaration (variable_declarator name: (identifier) @local.definition.variable type: (_) @local.type))
(type_parameter name: (type_identifier) @local.definition.parameter)
(infer_type (type_identifier) @local.definition.parameter)
(function_signature name: (identifier) @local.definition.function)
(required_parameter pattern: (identifier) @local.definition.parameter type: (type_annotation)? @local.type)
(class_declaration
  name: (type_identifier) @local.named
  body: (class_body (method_definition parameters: (formal_parameters (_
    (accessibility_modifier) pattern: (identifier) @local.definition.promoted)))))
(optional_parameter pattern: (identifier) @local.definition.parameter)
(required_parameter pattern: (rest_pattern (identifier) @local.definition.parameter))
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @local.definition.member
  type: (_)? @local.type)
(method_signature name: (property_identifier) @local.definition.member)
(abstract_method_signature name: (property_identifier) @local.definition.member)

; Types of objects.
(interface_declaration body: (_) @local.scope.shape)
(interface_declaration (extends_type_clause type: (type_identifier) @local.base) body: (_) @local.scope.shape)
(type_alias_declaration name: (_) @local.named value: (object_type) @local.scope.shape)
(type_alias_declaration name: (_) @local.named value: (intersection_type (object_type) @local.scope.shape))
(type_alias_declaration
  name: (_) @local.named
  value: (intersection_type (type_identifier) @local.base (object_type) @local.scope.shape))
(required_parameter pattern: (object_pattern) @local.scope.shape !type)
(object_type) @local.scope.shape
(enum_declaration name: (_) @local.named body: (_) @local.scope.shape)
(property_signature name: (property_identifier) @local.definition.member type: (_)? @local.type)
(enum_body name: (property_identifier) @local.definition.member)
(enum_assignment name: (property_identifier) @local.definition.member)
(_ (class_heritage (implements_clause (type_identifier) @local.base)) body: (class_body) @local.scope.class)

(type_identifier) @local.reference
(nested_type_identifier name: (_) @local.other)
