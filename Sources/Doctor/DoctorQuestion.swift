package import Configuration
package import Console
package import PRSNLCore

/// What `prsnlctl doctor` is asked to look at.
package struct DoctorQuestion: Sendable {
    /// The configuration, as far as it could be read, and what is wrong with it.
    let loaded: LoadedConfiguration
    let problems: [ConfigurationProblem]
    let paths: ClientPaths
    /// `--database` without `--socket`: a certain file is meant, whichever daemon there is.
    let isFileGiven: Bool
    /// The daemon that is meant.
    let unit: ServiceUnit
    /// `--repair`
    let isToRepair: Bool
    /// This very command, as root.
    let asRoot: NextCommand

    package init(
        loaded: LoadedConfiguration, problems: [ConfigurationProblem], paths: ClientPaths, isFileGiven: Bool,
        unit: ServiceUnit, isToRepair: Bool, asRoot: NextCommand
    ) {
        self.loaded = loaded
        self.problems = problems
        self.paths = paths
        self.isFileGiven = isFileGiven
        self.unit = unit
        self.isToRepair = isToRepair
        self.asRoot = asRoot
    }
}
