(inline) @hole.argument

(list_item) @hole.statement
(paragraph) @hole.statement

(fenced_code_block) @prose
