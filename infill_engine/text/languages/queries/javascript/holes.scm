(arguments (_) @hole.argument)
(array (_) @hole.argument)
(pair value: (_) @hole.argument)
(parenthesized_expression (_) @hole.argument)
(variable_declarator value: (_) @hole.argument)
(assignment_expression right: (_) @hole.argument)
(binary_expression (_) @hole.argument)
(ternary_expression (_) @hole.argument)
(return_statement (_) @hole.argument)
(template_substitution (_) @hole.argument)
(jsx_expression (_) @hole.argument)
[(arguments) (call_expression) (member_expression) (subscript_expression) (template_string) (arrow_function)] @hole.argument

(program (_) @hole.statement)
(statement_block (_) @hole.statement)
(class_body (_) @hole.statement)
(switch_case body: (_) @hole.statement)

[(statement_block) (class_body)] @hole.block

(comment) @prose
