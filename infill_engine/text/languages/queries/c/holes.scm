(argument_list (_) @hole.argument)
(initializer_list (_) @hole.argument)
(init_declarator value: (_) @hole.argument)
(assignment_expression right: (_) @hole.argument)
(parenthesized_expression (_) @hole.argument)
(binary_expression (_) @hole.argument)
(conditional_expression (_) @hole.argument)
(return_statement (_) @hole.argument)
(subscript_expression index: (_) @hole.argument)
(parameter_list (parameter_declaration) @hole.argument)
[(argument_list) (call_expression) (field_expression) (subscript_expression) (cast_expression)] @hole.argument

(translation_unit (_) @hole.statement)
(compound_statement (_) @hole.statement)
(case_statement value: (_) (_) @hole.statement)
(field_declaration_list (_) @hole.statement)

[(compound_statement) (field_declaration_list)] @hole.block

(comment) @prose
