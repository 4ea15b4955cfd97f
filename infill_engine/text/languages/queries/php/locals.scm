; Scopes. A function does not see the variables around it.
(program) @local.scope.function
[
  (function_definition)
  (method_declaration)
  (anonymous_function)
] @local.scope.closed
(arrow_function) @local.scope
(class_declaration body: (_) @local.scope.class)
(class_declaration (base_clause (name) @local.base) body: (_) @local.scope.class)
(class_declaration (class_interface_clause (name) @local.base) body: (_) @local.scope.class)
(trait_declaration body: (_) @local.scope.class)
(interface_declaration body: (_) @local.scope.class)
(enum_declaration body: (_) @local.scope.class)

; Inside the extent of a scope, but resolved outside of it.
(function_definition name: (_) @local.outer)

; Definitions
(function_definition name: (name) @local.definition.routine)
(class_declaration name: (name) @local.definition.tag)
(trait_declaration name: (name) @local.definition.tag)
(interface_declaration name: (name) @local.definition.tag)
(enum_declaration name: (name) @local.definition.tag)
(namespace_use_clause alias: (name) @local.definition.alias.type)
(namespace_use_clause . [(name) @local.definition.import.type (qualified_name (name) @local.definition.import.type)] !alias)
(namespace_use_declaration "function" (_ (qualified_name (name) @local.other)))
(namespace_use_declaration "const" (_ (qualified_name (name) @local.other)))
(method_declaration name: (name) @local.definition.method)
(property_element name: (variable_name) @local.definition.member)
(property_declaration type: (_) @local.type (property_element name: (variable_name) @local.definition.member))
(const_element . (name) @local.definition.member)
(enum_case name: (name) @local.definition.member)
(simple_parameter type: (_)? @local.type name: (variable_name) @local.definition.parameter)
(variadic_parameter name: (variable_name) @local.definition.parameter)
(class_declaration
  name: (name) @local.named
  body: (declaration_list (method_declaration parameters: (formal_parameters
    (property_promotion_parameter name: (variable_name) @local.definition.promoted)))))
(assignment_expression left: (variable_name) @local.definition.hoisted right: (_) @local.value)
(augmented_assignment_expression left: (variable_name) @local.definition.hoisted)
(reference_assignment_expression left: (variable_name) @local.definition.hoisted)
(list_literal (variable_name) @local.definition.hoisted)
(foreach_statement (_) . (variable_name) @local.definition.hoisted)
(foreach_statement (pair (variable_name) @local.definition.hoisted))
(foreach_statement (by_ref (variable_name) @local.definition.hoisted))
(catch_clause name: (variable_name) @local.definition.hoisted)
(static_variable_declaration name: (variable_name) @local.definition.hoisted)

; A name that belongs to an outer scope, whatever is done with it here.
(global_declaration (variable_name) @local.global)
(anonymous_function_use_clause (variable_name) @local.nonlocal)
(anonymous_function_use_clause (by_ref (variable_name) @local.nonlocal))

; References
(variable_name) @local.reference
(function_call_expression function: (name) @local.reference.call)
(named_type (name) @local.reference.type)
(object_creation_expression . (name) @local.reference.type)
(base_clause (name) @local.reference.type)
(class_interface_clause (name) @local.reference.type)
(use_declaration (name) @local.reference.type)
(scoped_call_expression scope: (name) @local.reference.type)
(scoped_property_access_expression scope: (name) @local.reference.type)
(class_constant_access_expression . (name) @local.reference.type)
(binary_expression operator: "instanceof" right: (name) @local.reference.type)
(attribute (name) @local.reference.type)

; Variables that are named by their content.
(dynamic_variable_name) @local.unsure
((function_call_expression function: (name) @_function arguments: (arguments (argument (string (string_content) @local.unsure))))
  (#eq? @_function "compact"))
((function_call_expression function: (name) @_function arguments: (arguments (argument (string (string_content) @local.opaque))))
  (#match? @_function "^(call_user_func(_array)?|is_callable|function_exists|method_exists|property_exists|usort|uasort|uksort|array_map|array_filter|array_walk|spl_autoload_register|register_shutdown_function)$"))

; Names that are looked up in something, not in a scope.
(member_access_expression object: (_) @local.holder name: (name) @local.member)
(nullsafe_member_access_expression object: (_) @local.holder name: (name) @local.member)
(member_call_expression object: (_) @local.holder name: (name) @local.member.call)
(nullsafe_member_call_expression object: (_) @local.holder name: (name) @local.member.call)
(scoped_call_expression scope: (_) @local.holder name: (name) @local.member.call)
(scoped_property_access_expression scope: (_) @local.holder name: (variable_name) @local.member)
(class_constant_access_expression (_) @local.holder . (name) @local.member)
(argument name: (name) @local.keyword)
