defmodule Rorqual.UploadWriter do
  @moduledoc """
  Reads an access log while it is uploaded, in the shape of `Phoenix.LiveView.UploadWriter`.

      allow_upload(socket, :log,
        accept: :any,
        max_file_size: 100_000_000_000,
        writer: fn _name, entry, _socket -> {Rorqual.UploadWriter, to: self(), id: entry.ref} end
      )

  The process `:to` is sent `{:rorqual_report, id, report}`, at most one in `:every` milliseconds (250), and
  `{:rorqual_report, id, report}` with `report["complete"]` at the end. A report is as
  `Rorqual.Log.report/2` has it: `report["histogram"]` are the lines over time.

  `write_chunk/2` returns when the reader has room, which is the back pressure: the browser sends no more
  until then. No bytes are kept. A file that is no log, or any other failure, ends the upload with a
  `Rorqual.Error`, and not the page.

  Further options are `:where`, `:since`, `:until`, `:format`, `:top`, `:memory` and `:threads`, as
  `Rorqual.Log.report/2` has them.
  """

  alias Rorqual.{Options, Upload}

  defstruct [:id, :upload, :report]

  @doc "Begins to read."
  def init(options) do
    {to, options} = Keyword.pop!(options, :to)
    {id, options} = Keyword.pop(options, :id, make_ref())
    {every, options} = Keyword.pop(options, :every, 250)
    given = [where: nil, since: nil, until: nil, format: nil, top: 10]
    options = Options.checked(options, given)
    span = %{since: Options.microseconds(options.since), until: Options.microseconds(options.until)}
    report = options |> Map.merge(span) |> Map.put(:every, every)

    with {:ok, upload} <- Upload.start(self(), to, id, report) do
      {:ok, %__MODULE__{id: id, upload: upload}}
    end
  rescue
    error in Rorqual.Error -> {:error, error}
  end

  @doc "What whoever consumes the upload is given: `id`, and the last report once it is complete."
  def meta(state), do: %{id: state.id, report: state.report}

  @doc "Gives bytes to the reader, and returns when there is room for more."
  def write_chunk(bytes, state) do
    case Upload.give(state.upload, bytes) do
      :ok -> {:ok, state}
      {:error, error} -> {:error, error, state}
    end
  end

  @doc "Ends the reading: with `:done` the last report is made of all bytes, and otherwise none."
  def close(state, :done) do
    case Upload.finish(state.upload) do
      {:ok, report} -> {:ok, %{state | report: report}}
      {:error, error} -> Upload.stop(state.upload) && {:error, error}
    end
  end

  def close(state, _reason) do
    Upload.stop(state.upload)
    {:ok, state}
  end
end
