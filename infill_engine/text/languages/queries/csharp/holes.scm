(argument_list (argument) @hole.argument)
(initializer_expression (_) @hole.argument)
(variable_declarator (_) (_) @hole.argument)
(assignment_expression right: (_) @hole.argument)
(if_statement condition: (_) @hole.argument)
(binary_expression (_) @hole.argument)
(conditional_expression (_) @hole.argument)
(return_statement (_) @hole.argument)
(arrow_expression_clause (_) @hole.argument)
(lambda_expression body: (_) @hole.argument)
(parameter_list (parameter) @hole.argument)
(type_argument_list (_) @hole.argument)
[(argument_list) (invocation_expression) (member_access_expression) (object_creation_expression)] @hole.argument

(compilation_unit (_) @hole.statement)
(declaration_list (_) @hole.statement)
(block (_) @hole.statement)

[(block) (declaration_list)] @hole.block

(comment) @prose
