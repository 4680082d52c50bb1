defmodule Rorqual.Program do
  @moduledoc """
  The program `rorqual`, for what it does in a process of its own: `config :rorqual, program: path`, the
  environment's `RORQUAL_PROGRAM`, or the one on the path.
  """

  require Logger

  @doc "The path of the program."
  def path do
    found =
      Application.get_env(:rorqual, :program) || System.get_env("RORQUAL_PROGRAM") ||
        System.find_executable("rorqual")

    found ||
      raise Rorqual.Error,
        kind: :io,
        message: "the program rorqual is not installed: set RORQUAL_PROGRAM to its path"
  end

  @doc "Options as flags: `[row_group: 1000, force: true]`."
  def flags(options) do
    Enum.flat_map(options, fn {name, value} ->
      flag = "--" <> String.replace(to_string(name), "_", "-")

      case value do
        true -> [flag]
        no when no in [false, nil] -> []
        list when is_list(list) -> Enum.flat_map(list, &[flag, to_string(&1)])
        value -> [flag, to_string(value)]
      end
    end)
  end

  @doc "Runs the program; its error is raised, and its notes are logged."
  def run!(arguments) do
    {said, status} = System.cmd(path(), arguments, stderr_to_stdout: true)
    said = String.trim(said)
    if status != 0, do: raise(Rorqual.Error, kind: :program, message: said)
    if said != "", do: Logger.warning(said)
    :ok
  end
end
