defmodule Rorqual.Template do
  @moduledoc """
  Jinja templates. Variables are maps, lists, texts, numbers, booleans and `nil`.

  A template is its text, and `:name` (`"page.html"`) says by its extension how values are escaped; or,
  with `:folder`, its name there. With `lenient: true` a name without a value is empty, and no error.
  """

  alias Rorqual.{Job, Native}

  @doc "The output as iodata."
  def render(template, variables, options \\ []),
    do: template |> render_stream!(variables, options) |> Enum.to_list()

  @doc "The output in pieces, while it is made: for `Plug.Conn.chunk/2`."
  def render_stream!(template, variables, options \\ []) do
    options = Keyword.validate!(options, name: "page.html", folder: nil, lenient: false)
    page = %{variables: variables, lenient: options[:lenient], folder: options[:folder]}

    page =
      case options[:folder] do
        nil -> Map.merge(page, %{name: options[:name], text: IO.iodata_to_binary(template)})
        _ -> Map.merge(page, %{name: template, text: nil})
      end

    Job.stream([], fn id, [] -> Native.page(id, page) end)
  end
end
