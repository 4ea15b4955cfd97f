(argument_list (_) @hole.argument)
(array_initializer (_) @hole.argument)
(variable_declarator value: (_) @hole.argument)
(assignment_expression right: (_) @hole.argument)
(parenthesized_expression (_) @hole.argument)
(binary_expression (_) @hole.argument)
(ternary_expression (_) @hole.argument)
(return_statement (_) @hole.argument)
(lambda_expression body: (_) @hole.argument)
(formal_parameters (formal_parameter) @hole.argument)
[(argument_list) (method_invocation) (field_access) (object_creation_expression) (type_arguments)] @hole.argument

(program (_) @hole.statement)
(block (_) @hole.statement)
(class_body (_) @hole.statement)
(switch_block_statement_group (_) @hole.statement)

[(block) (class_body) (constructor_body)] @hole.block

[(line_comment) (block_comment)] @prose
