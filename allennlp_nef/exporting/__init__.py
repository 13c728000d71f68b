"""Exports taggers: `torch.export`, ONNX, and a folder that tags without torch."""
