; inherits: ecma

(_ (class_heritage (identifier) @local.base) body: (class_body) @local.scope.class)
(class_declaration name: (identifier) @local.definition.class)
(formal_parameters (identifier) @local.definition.parameter)
(formal_parameters (assignment_pattern left: (identifier) @local.definition.parameter))
(formal_parameters (rest_pattern (identifier) @local.definition.parameter))
(field_definition property: [(property_identifier) (private_property_identifier)] @local.definition.member)
; What a parameter takes apart has the shape of its pattern.
(formal_parameters (object_pattern) @local.scope.shape)
(formal_parameters (assignment_pattern left: (object_pattern) @local.scope.shape))

(jsx_attribute . (property_identifier) @local.keyword @local.shaped)
; <div> is no reference to a variable.
((jsx_opening_element name: (identifier) @local.other) (#match? @local.other "^[a-z]"))
((jsx_closing_element name: (identifier) @local.other) (#match? @local.other "^[a-z]"))
((jsx_self_closing_element name: (identifier) @local.other) (#match? @local.other "^[a-z]"))
