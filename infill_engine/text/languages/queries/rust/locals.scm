; Scopes
(source_file) @local.scope.function
[
  (function_item)
  (closure_expression)
] @local.scope.function
[
  (block)
  (mod_item)
  (for_expression)
  (while_expression)
  (if_expression)
  (match_arm)
  (impl_item)
  (trait_item)
  (struct_item)
  (enum_item)
  (function_signature_item)
  (function_type)
] @local.scope
(struct_item) @local.scope.class
(union_item) @local.scope.class
(enum_item) @local.scope.class
(enum_variant body: (field_declaration_list)) @local.scope.class
(trait_item) @local.scope.class
(impl_item
  type: [(type_identifier) @local.named (generic_type type: (type_identifier) @local.named)]) @local.scope.class
(impl_item
  trait: [(type_identifier) @local.base (generic_type type: (type_identifier) @local.base)]
  type: [(type_identifier) @local.named (generic_type type: (type_identifier) @local.named)]) @local.scope.class

; Inside the extent of a scope, but resolved outside of it.
(function_item name: (_) @local.outer)
(function_signature_item name: (_) @local.outer)
(struct_item name: (_) @local.outer)
(union_item name: (_) @local.outer)
(enum_item name: (_) @local.outer)
(enum_variant name: (_) @local.outer body: (field_declaration_list))
(trait_item name: (_) @local.outer)
(mod_item name: (_) @local.outer)
(for_expression value: (_) @local.outer)
(if_expression alternative: (_) @local.outer)

; Definitions of items
(function_item name: (identifier) @local.definition.function)
(impl_item body: (declaration_list (function_item name: (identifier) @local.definition.method)))
(trait_item body: (declaration_list (function_item name: (identifier) @local.definition.method)))
(trait_item body: (declaration_list (function_signature_item name: (identifier) @local.definition.method)))
(impl_item body: (declaration_list (const_item name: (identifier) @local.definition.member)))
(trait_item body: (declaration_list (const_item name: (identifier) @local.definition.member)))
(struct_item name: (type_identifier) @local.definition.class)
(union_item name: (type_identifier) @local.definition.class)
(enum_item name: (type_identifier) @local.definition.class)
(trait_item name: (type_identifier) @local.definition.class)
(type_item name: (type_identifier) @local.definition.class)
(type_parameter name: (type_identifier) @local.definition.parameter)
(const_item name: (identifier) @local.definition.variable)
(static_item name: (identifier) @local.definition.variable)
(mod_item name: (identifier) @local.definition.file !body)
(mod_item name: (identifier) @local.definition.alias body: (_))
(enum_variant name: (identifier) @local.definition.member)
(field_declaration name: (field_identifier) @local.definition.member type: (_) @local.type)
(use_declaration argument: (identifier) @local.definition.import)
(use_declaration argument: (scoped_identifier name: (identifier) @local.definition.import))
(use_list (identifier) @local.definition.import)
(use_list (scoped_identifier name: (identifier) @local.definition.import))
(use_as_clause alias: (identifier) @local.definition.alias)
(use_as_clause path: (_) @local.other)
(use_list (self) @local.other)
; Other modules know the name, too.
(use_declaration (visibility_modifier)) @local.unsure
; What comes from the module around is defined there.
(use_declaration argument: (scoped_identifier path: (super)) @local.assigned)
(use_declaration argument: (scoped_use_list path: (super)) @local.assigned)

; Definitions of variables. In a pattern a capital begins a constant or a variant.
(let_declaration
  pattern: (identifier) @local.definition.variable
  type: (_)? @local.type
  value: (_)? @local.value) @local.anew
(let_declaration) @local.anew
(let_condition) @local.from
(parameter pattern: (identifier) @local.definition.parameter type: (_) @local.type)
(closure_parameters (identifier) @local.definition.parameter)
(for_expression pattern: (identifier) @local.definition.variable)
((let_condition pattern: (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((match_pattern . (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((tuple_pattern (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((tuple_struct_pattern (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((slice_pattern (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((or_pattern (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((reference_pattern (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
((field_pattern pattern: (identifier) @local.definition.variable) (#match? @local.definition.variable "^[a-z_]"))
(ref_pattern (identifier) @local.definition.variable)
(mut_pattern (identifier) @local.definition.variable)
(captured_pattern . (identifier) @local.definition.variable)
(field_pattern name: (shorthand_field_identifier) @local.definition.variable)
(tuple_struct_pattern type: (identifier) @local.other)
(tuple_struct_pattern type: (scoped_identifier) @local.assigned)

; References
(identifier) @local.reference
(type_identifier) @local.reference
(tuple_struct_pattern type: (identifier) @local.certain)
(lifetime) @local.other
(label) @local.other
(macro_invocation macro: (_) @local.other)
(attribute_item) @local.other
(inner_attribute_item) @local.other

; The arguments of a macro are expressions in these, anything in others.
((macro_invocation macro: (_) @_macro (token_tree) @local.unsure)
  (#not-match? @_macro
    "^((e?print|write)(ln)?|format|panic|(debug_)?assert(_eq|_ne)?|vec|dbg|todo|unreachable|unimplemented|bail|anyhow|ensure|(log::)?(trace|debug|info|warn|error))$"))
(macro_definition) @local.unsure
(token_tree ["let" "=>" "|"]) @local.unsure
(token_tree . "{") @local.unsure
(token_tree (identifier) @local.unsure . ["=" ":"])
(macro_invocation (token_tree (string_literal) @local.formatted))

; Names that are looked up in something, not in a scope.
(field_expression value: (_) @local.holder field: (field_identifier) @local.member)
(call_expression
  function: (field_expression value: (_) @local.holder field: (field_identifier) @local.member.call))
(call_expression
  function: (generic_function
    function: (field_expression value: (_) @local.holder field: (field_identifier) @local.member.call)))
(scoped_identifier path: (_) @local.holder name: (identifier) @local.member.any)
(scoped_type_identifier path: (_) @local.holder name: (type_identifier) @local.member.any)
(token_tree (_) @local.holder . "." . (identifier) @local.member)
(token_tree (_) @local.holder . "." . (identifier) @local.member.call . (token_tree . "("))
(token_tree (_) @local.holder . "::" . (identifier) @local.member.any)
(struct_expression
  name: [(type_identifier) @local.named (scoped_type_identifier name: (type_identifier) @local.named)]
  body: (field_initializer_list (field_initializer field: (field_identifier) @local.member)))
(struct_expression
  name: [(type_identifier) @local.named (scoped_type_identifier name: (type_identifier) @local.named)]
  body: (field_initializer_list (shorthand_field_initializer (identifier) @local.shorthand)))
(struct_pattern
  type: [(type_identifier) @local.named (scoped_type_identifier name: (type_identifier) @local.named)]
  (field_pattern name: (field_identifier) @local.member))
(struct_pattern
  type: [(type_identifier) @local.named (scoped_type_identifier name: (type_identifier) @local.named)]
  (field_pattern name: (shorthand_field_identifier) @local.shorthand))
