; inherits: typescript

((jsx_opening_element name: (identifier) @local.other) (#match? @local.other "^[a-z]"))
((jsx_closing_element name: (identifier) @local.other) (#match? @local.other "^[a-z]"))
((jsx_self_closing_element name: (identifier) @local.other) (#match? @local.other "^[a-z]"))
(jsx_attribute . (property_identifier) @local.keyword @local.shaped)
