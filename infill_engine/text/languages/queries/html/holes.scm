(attribute_value) @hole.argument
(quoted_attribute_value) @hole.argument
(attribute) @hole.argument
(text) @hole.argument

(element (element) @hole.statement)

(element (start_tag) (_) (end_tag)) @hole.block

(comment) @prose
