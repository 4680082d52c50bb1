defmodule Rorqual.Options do
  @moduledoc false

  @units %{"" => 1, "k" => 1024, "m" => 1024 ** 2, "g" => 1024 ** 3, "t" => 1024 ** 4}

  @doc "A size in bytes: a number, or a text as \"256MiB\"."
  def bytes(number) when is_integer(number) and number >= 0, do: number

  def bytes(text) when is_binary(text) do
    with [_, digits, unit] <- Regex.run(~r/^(\d+) *([kmgt]?)(?:i?b)?$/i, text) do
      String.to_integer(digits) * @units[String.downcase(unit)]
    else
      _ ->
        raise Rorqual.Error, kind: :argument, message: "#{inspect(text)} is not a size (example: \"256MiB\")"
    end
  end

  @doc "Options with defaults; one that is not known is an error."
  def checked(options, defaults) do
    defaults = [memory: Application.get_env(:rorqual, :memory, "128MiB"), threads: nil] ++ defaults
    options = options |> Keyword.validate!(defaults) |> Map.new()
    %{options | memory: bytes(options.memory)}
  end

  @doc "A time as Unix microseconds."
  def microseconds(nil), do: nil
  def microseconds(%DateTime{} = time), do: DateTime.to_unix(time, :microsecond)
  def microseconds(%NaiveDateTime{} = time), do: time |> DateTime.from_naive!("Etc/UTC") |> microseconds()
  def microseconds(%Date{} = date), do: date |> DateTime.new!(~T[00:00:00]) |> microseconds()

  def microseconds(text) when is_binary(text) do
    with {:error, _} <- DateTime.from_iso8601(text),
         {:error, _} <- NaiveDateTime.from_iso8601(text),
         {:error, _} <- Date.from_iso8601(text) do
      raise Rorqual.Error,
        kind: :argument,
        message: "#{inspect(text)} is not a time (examples: 2025-01-31, 2025-01-31T08:00:00+02:00)"
    else
      {:ok, time, _offset} -> microseconds(time)
      {:ok, time} -> microseconds(time)
    end
  end
end
