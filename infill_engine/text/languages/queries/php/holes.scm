(arguments (argument) @hole.argument)
(array_creation_expression (array_element_initializer) @hole.argument)
(assignment_expression right: (_) @hole.argument)
(parenthesized_expression (_) @hole.argument)
(binary_expression (_) @hole.argument)
(conditional_expression (_) @hole.argument)
(return_statement (_) @hole.argument)
(echo_statement (_) @hole.argument)
(formal_parameters (simple_parameter) @hole.argument)
[
  (arguments) (function_call_expression) (member_call_expression) (member_access_expression) (scoped_call_expression)
  (object_creation_expression) (subscript_expression) (encapsed_string)
] @hole.argument

(program (_) @hole.statement)
(compound_statement (_) @hole.statement)
(declaration_list (_) @hole.statement)
(colon_block (_) @hole.statement)
(case_statement value: (_) (_) @hole.statement)

[(compound_statement) (declaration_list) (colon_block)] @hole.block

(comment) @prose
