[inputs: ["{mix,.formatter}.exs", "{examples,lib,test}/**/*.{ex,exs}"], line_length: 110]
