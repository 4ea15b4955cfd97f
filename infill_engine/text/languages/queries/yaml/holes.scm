(block_mapping_pair value: (flow_node) @hole.argument)
(flow_pair value: (_) @hole.argument)
(flow_sequence (_) @hole.argument)
(block_sequence_item (flow_node) @hole.argument)

(block_mapping (block_mapping_pair) @hole.statement)
(block_sequence (block_sequence_item) @hole.statement)

(block_mapping_pair value: (block_node) @hole.block)

(comment) @prose
(block_scalar) @prose
