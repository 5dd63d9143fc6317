"""The actions of questions about images: VQA answers from the image, QA from texts of earlier actions."""
