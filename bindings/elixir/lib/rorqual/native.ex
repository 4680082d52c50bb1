defmodule Rorqual.Native do
  @moduledoc false
  @on_load :load

  def load do
    path = Path.join(:code.priv_dir(:rorqual), "native/librorqual_nif")
    with :ok <- :erlang.load_nif(String.to_charlist(path), 0), do: configured()
  end

  defp configured do
    case Application.get_env(:rorqual, :node_memory) do
      nil -> :ok
      memory -> if configure(Rorqual.Options.bytes(memory)), do: :ok
    end
  end

  def rows(_id, _arguments), do: nif()
  def report(_id, _arguments), do: nif()
  def reports(_id, _arguments), do: nif()
  def program(_id, _arguments), do: nif()
  def count(_id, _arguments), do: nif()
  def grep(_id, _arguments), do: nif()
  def digest(_id, _arguments), do: nif()
  def download(_id, _arguments), do: nif()
  def page(_id, _arguments), do: nif()
  def store_open(_id, _dir, _bytes_max), do: nif()
  def store_put(_id, _store, _source, _name), do: nif()
  def store_get(_id, _store, _key), do: nif()
  def store_remove(_id, _store, _key), do: nif()
  def store_usage(_id, _store), do: nif()
  def entry_close(_entry), do: nif()
  def feed_new(_id), do: nif()
  def feed_give(_feed, _bytes), do: nif()
  def feed_end(_feed), do: nif()
  def demand(_job), do: nif()
  def stop(_job), do: nif()
  def progress(_job), do: nif()
  def live, do: nif()
  def configure(_bytes), do: nif()

  defp nif, do: :erlang.nif_error(:not_loaded)
end
