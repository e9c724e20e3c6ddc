internal import Web

/// The JSON Schema of `.larder.json`, generated from the table that the parser reads. Editors complete options with it.
enum ConfigSchema {
    /// The URL at which the schema is published. A `.larder.json` may name it as its `$schema`.
    static let identifier = Product.home + "/schemas/config.schema.json"

    /// The schema as JSON.
    static var text: String {
        let members: JSONMembers = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": identifier,
            "title": "Larder configuration",
            "description":
                "Options without their dashes, for all commands or in a section for one command; see larder help config.",
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "$defs": definitions,
        ]
        return members.text()
    }

    /// The schemas of values, to which the options refer. Numbers may be written with or without quotes.
    private static var definitions: JSONMembers {
        [
            "value": ["type": ["string", "number"]] as JSONMembers,
            "values": [
                "anyOf": [
                    ["$ref": "#/$defs/value"],
                    ["type": "array", "items": ["$ref": "#/$defs/value"] as JSONMembers],
                ] as [JSONMembers]
            ] as JSONMembers,
        ]
    }

    /// The members of a configuration file: options for all commands, and a section for each command. An option
    /// that has another meaning for some commands is allowed only in their sections.
    private static var properties: JSONMembers {
        var own: [(String, JSONMembers)] = [
            (
                ConfigFile.schemaKey,
                ["type": "string", "description": "The URL of this schema, for editors"] as JSONMembers
            )
        ]
        let sections = CommandEntry.all.filter { $0.options.contains { !$0.isCommandLineOnly } }
        own += options(Option.all.filter { !Settings.isAmbiguous($0) }, help: \.help)
        for command in sections {
            own.append(
                (
                    command.name,
                    [
                        "type": "object",
                        "description": "Options of larder \(command.name): \(command.summary)",
                        "additionalProperties": false,
                        "properties": JSONMembers(
                            options(command.options, help: command.help).map { ($0.0, $0.1) }),
                    ] as JSONMembers
                ))
        }
        // Where a command and an option share a name, an object is the section of the command.
        var merged: [(String, JSONMembers)] = []
        for (key, value) in own {
            if let index = merged.firstIndex(where: { $0.0 == key }) {
                merged[index].1 = ["anyOf": [merged[index].1, value]]
            } else {
                merged.append((key, value))
            }
        }
        return JSONMembers(merged.map { ($0.0, $0.1) })
    }

    /// The members for the options that files may set, with one member for each earlier name.
    ///
    /// - Parameter help: returns the description of an option.
    private static func options(_ options: [Option], help: (Option) -> String) -> [(String, JSONMembers)] {
        options.filter { !$0.isCommandLineOnly }.flatMap { option in
            option.keys.map { key in
                (key, schema(of: option, help(option), isEarlierName: key != option.key))
            }
        }
    }

    /// The schema of an option. Editors show its help, and mark earlier names as deprecated.
    private static func schema(of option: Option, _ help: String, isEarlierName: Bool) -> JSONMembers {
        let standard = option.isFlag ? nil : option.defaultValue
        var members: JSONMembers = [
            "description": help + (standard.map { " (default: \($0))" } ?? "")
                + (option.isProgram
                    ? "; only in the user's own file, not in the .larder.json of a project" : "")
        ]
        if option.isFlag {
            members = members + ["type": "boolean"]
        } else {
            members = members + ["$ref": option.isRepeatable ? "#/$defs/values" : "#/$defs/value"]
        }
        return isEarlierName ? members + ["deprecated": true] : members
    }
}
