# EEx to iodata: eex.exs doom|cursed N. The page is built as one I/O list, and written at once.
[what, count] = System.argv()
lines = "DOOM DOOM DOOM DOOM\n"

body =
  case what do
    "doom" -> String.duplicate(lines, 14)
    "cursed" -> String.duplicate(lines, 7) <> "<%= \"\" %>" <> String.duplicate(lines, 7)
  end

# EEx's own engine joins binaries; a list of parts is what its documentation offers to build a smarter engine from.
defmodule Parts do
  @behaviour EEx.Engine
  def init(_options), do: []
  def handle_begin(_state), do: []
  def handle_end(state), do: Enum.reverse(state)
  def handle_body(state), do: Enum.reverse(state)
  def handle_text(state, _meta, text), do: [text | state]
  def handle_expr(state, "=", code), do: [quote(do: case(unquote(code), do: (part when is_list(part) -> part; part -> to_string(part)))) | state]
  def handle_expr(state, _marker, code), do: [code | state]
end

template = "<%= for _ <- 1..count do %>" <> body <> "<% end %>"
quoted = EEx.compile_string(template, engine: Parts)
{page, _} = Code.eval_quoted(quoted, count: String.to_integer(count))
IO.binwrite(:stdio, page)
