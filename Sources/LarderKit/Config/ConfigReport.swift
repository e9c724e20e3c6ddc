internal import Web

/// What options are in force, and who says so.
public struct ConfigReport: Sendable, Equatable {
    public struct File: Sendable, Equatable {
        public let path: String
        /// `read`, `not there`, or why it is not read.
        public let state: String

        public init(path: String, state: String) {
            self.path = path
            self.state = state
        }
    }

    public struct Setting: Sendable, Equatable {
        /// The command that it is for; nil for all that have the option.
        public let command: String?
        public let option: String
        /// Nil for what is secret, and for what nobody sets.
        public let values: [String]?
        public let source: String

        public init(command: String?, option: String, values: [String]?, source: String) {
            self.command = command
            self.option = option
            self.values = values
            self.source = source
        }
    }

    public let files: [File]
    public let settings: [Setting]

    public init(files: [File], settings: [Setting]) {
        self.files = files
        self.settings = settings
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("files") { list in
                list.array { array in
                    for file in files {
                        array.object { object in
                            object.member("path", file.path)
                            object.member("state", file.state)
                        }
                    }
                }
            }
            object.member("settings") { list in
                list.array { array in
                    for setting in settings {
                        array.object { object in
                            object.member("command", setting.command)
                            object.member("option", setting.option)
                            object.member("values", setting.values)
                            object.member("source", setting.source)
                        }
                    }
                }
            }
        }
        return writer.text
    }
}
