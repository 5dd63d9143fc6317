"""The actions of questions about images: VQA looks at the image, QA answers from the texts that were found."""
