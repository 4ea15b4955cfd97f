; Spans of one line are drawn from these; longer ones are left to lines and blocks.
[
  (argument_list) (subscript) (binary_operator) (comparison_operator) (boolean_operator) (call) (attribute)
  (identifier) (string) (integer) (list) (tuple) (dictionary) (conditional_expression) (lambda) (not_operator)
  (unary_operator) (keyword_argument) (pair) (list_comprehension) (generator_expression) (parenthesized_expression)
] @hole.argument

(module (_) @hole.statement)
(block (_) @hole.statement)

(block) @hole.block

(comment) @prose
(module . (expression_statement . [(string) (concatenated_string)] .) @prose)
(block . (expression_statement . [(string) (concatenated_string)] .) @prose)
