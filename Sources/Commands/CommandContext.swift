import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Requests
import Store

/// What every command needs: where the daemon and its file are, and how to print.
struct CommandContext: Sendable {
    let paths: ClientPaths
    /// `--database` without `--socket`: a certain file is meant, whichever daemon there is.
    let isFileGiven: Bool
    let isSocketGiven: Bool
    /// How text looks on stdout; `nil` for JSON.
    let style: TextStyle?
    let errorStyle: TextStyle
    let environment: ProcessEnvironment
    /// As far as it could be read.
    let loaded: LoadedConfiguration
    /// What the daemon would not start with.
    let problems: [ConfigurationProblem]
    /// Of `--config` or `--instance`.
    private let configurationFile: String?
    /// Whether it says what the options do not, which may name both places.
    private let isConfigurationUsed: Bool
    /// The daemon that is meant, also where its configuration is wrong or cannot be read.
    let unit: ServiceUnit
    /// The command may queue writes.
    let mayWrite: Bool
    /// Root has given the command, and it runs as the owner of the copy.
    var hasGivenUpRoot = false

    /// - Parameter judgesConfiguration: the configuration is looked at, whatever the options say.
    /// - Throws: `usage`.
    init(
        _ arguments: ParsedArguments, _ environment: ProcessEnvironment, judgesConfiguration: Bool
    ) throws(UserFacingError) {
        let socket = arguments.value("--socket").map(environment.absolute)
        let database = arguments.value("--database").map(environment.absolute)
        let file = try Self.configurationFile(arguments)
        // Those that say which daemon is meant, as they were given.
        let options = ["--config", "--instance", "--socket", "--database"].flatMap { option in
            arguments.value(option).map { [option, $0] } ?? []
        }
        let namesServer = arguments.command?.name == "login" && arguments.value("--server") != nil
        // A person who names a server begins a copy of their own: the machine's is root's to configure, and the account of one
        // person is not to end in it. A login can make the configuration of the machine's daemon, or of an instance.
        (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true,
            onlyOwn: namesServer && geteuid() != 0 && options.isEmpty,
            mayBeMissing: namesServer && file.flatMap(DefaultPaths.unit(ofConfigurationFile:)) != nil)
        isConfigurationUsed = judgesConfiguration || socket == nil || database == nil
        var paths =
            isConfigurationUsed
            ? ClientPaths(loaded) { access($0, F_OK) == 0 } : ClientPaths(controlSocket: "", database: "")
        if let socket { paths.controlSocket = socket }
        if let database { paths.database = database }
        // As the daemon does: it works in the folder of the file itself.
        paths.database = RealPath.of(paths.database)
        unit = ServiceUnit(
            isConfigurationUsed ? Self.kind(loaded, given: file) : DefaultPaths.kind(ofUnit: "prsnld"),
            options: options, rootAccess: Self.rootAccess(environment))
        mayWrite = arguments.command.map { $0.options.contains(.wait) || $0.name == "mcp" } ?? false
        self.environment = environment
        configurationFile = file
        self.paths = paths
        isFileGiven = database != nil && socket == nil
        isSocketGiven = socket != nil
        errorStyle = TextStyle(descriptor: STDERR_FILENO, environment: environment.variables, unit)
        style =
            arguments.has("--json")
            ? nil : TextStyle(descriptor: STDOUT_FILENO, environment: environment.variables, unit)
    }

    private static func rootAccess(_ environment: ProcessEnvironment) -> ServiceUnit.RootAccess {
        if geteuid() == 0 { return .isRoot }
        let folders = (environment.variables["PATH"] ?? "").split(separator: ":")
        return folders.contains { access("\($0)/sudo", X_OK) == 0 } ? .sudo : .su
    }

    /// Also by the name of a file that cannot be read.
    private static func kind(_ loaded: LoadedConfiguration, given: String?) -> ServiceUnit.Kind {
        if loaded.isOwn { return DefaultPaths.kind(ofUnit: nil) }
        guard let file = loaded.file ?? given else { return DefaultPaths.kind(ofUnit: "prsnld") }
        guard let unit = DefaultPaths.unit(ofConfigurationFile: file) else { return .manual(file) }
        return DefaultPaths.kind(ofUnit: unit, file: given)
    }

    /// The file of `--config`, or of the instance.
    private static func configurationFile(_ arguments: ParsedArguments) throws(UserFacingError) -> String? {
        guard let instance = arguments.value("--instance") else { return arguments.value("--config") }
        guard arguments.value("--config") == nil else {
            throw UserFacingError(.usage, "--instance and --config both name the configuration; give one of them.")
        }
        try DefaultPaths.checkInstance(instance)
        return DefaultPaths.configurationFile(ofInstance: instance)
    }

    /// All settings, for commands that do something in the daemon's place.
    func configuration() throws(UserFacingError) -> LoadedConfiguration {
        if let mistake { throw mistake }
        return loaded
    }

    /// Why the daemon would not start with the configuration.
    private var mistake: UserFacingError? {
        if problems.isEmpty { return nil }
        return ConfigurationFailure.missingInstance(configurationFile)
            ?? ConfigurationFailure(problems: problems).userFacing
    }

    /// - Parameter onlyReads: the command needs no more of the configuration than where socket and file are, so that a mistake
    ///   elsewhere in it is only said.
    func checkConfiguration(onlyReads: Bool) throws(UserFacingError) {
        guard isConfigurationUsed else { return }
        if let mistake, !onlyReads || problems.contains(where: \.hidesPlaces) { throw mistake }
        for warning in loaded.warnings { say("warning: \(warning)") }
        for problem in problems { say("ignored here, but the daemon will not start with it: \(problem.description)") }
    }

    /// Talk, as against data.
    func say(_ text: Advice) { StandardStream.error.write("prsnlctl: \(errorStyle.text(text))\n") }

    var isText: Bool { style != nil }

    /// - Parameter other: the daemon that it is about, where that is another than the one that was meant.
    func render(_ report: some Report, of other: ServiceUnit? = nil) throws(UserFacingError) -> String {
        guard var style else { return try JSONOutput.pretty(report, other ?? unit) + "\n" }
        style.unit = other ?? unit
        return report.text(style)
    }

    /// - Parameter error: what the report says that failed: in the JSON with the rest, for a person on stderr.
    @discardableResult
    func write(
        _ report: some Report, of other: ServiceUnit? = nil, with error: UserFacingError? = nil
    ) throws(UserFacingError) -> ExitCode {
        try print(try render(report, of: other))
        if let error, isText {
            StandardStream.error.write(FailureReport(error).text(program: "prsnlctl", errorStyle))
        }
        return report.exitCode
    }

    @discardableResult
    func print(_ text: String) throws(UserFacingError) -> ExitCode {
        guard StandardStream.output.write(text) else {
            throw UserFacingError(
                .diskError, "The answer could not be written to stdout.",
                consequence: mayWrite ? "The command itself was carried out." : nil,
                recoverySuggestion: mayWrite
                    ? "Check where stdout goes to. `prsnlctl queue` shows what waits to be sent."
                    : "Check where stdout goes to.")
        }
        return .fine
    }

    /// The answer of the daemon, or of this process: see `RequestClient`.
    func answer<Asked: Request>(_ request: Asked) throws(UserFacingError) -> Asked.Answer {
        var client = RequestClient(self)
        return try client.ask(request)
    }

    /// The same, with its progress on stderr.
    func answerShowingProgress<Asked: Request>(
        _ request: Asked
    ) throws(UserFacingError) -> Asked.Answer where Asked.Update == Progress {
        var client = RequestClient(self)
        var display = ProgressDisplay(style: errorStyle, isQuiet: !isText)
        defer { display.end() }
        return try client.ask(request) { display.show($0) }
    }

    func reader() throws(UserFacingError) -> StoreReader { try StoreReader(path: database) }

    /// The process that holds the copy, most likely its daemon. A command of prsnlctl lets go of it within a second.
    var holder: (process: Int32, socket: String?)? {
        DatabaseLock.holder(database: database).flatMap { ProcessName.of($0.process) == "prsnlctl" ? nil : $0 }
    }

    /// The program that holds SQLite's write lock of the copy for longer than an instant, and is not the daemon.
    var otherWriter: String? {
        func writer() -> Int32? { DatabaseLock.otherWriter(database: database) }
        guard let process = writer(), usleep(100_000) == 0, writer() == process else { return nil }
        return ProcessName.text(process)
    }

    /// The daemon at the socket that is configured. Where none listens there, as without XDG_RUNTIME_DIR, the one that holds the copy.
    ///
    /// - Throws: `daemon_elsewhere` where it listens at another socket than `--socket`, else as `ControlClient`.
    func reach(timeout: Duration = .seconds(5), tries: Int = 20) throws(UserFacingError) -> ControlClient {
        do throws(UserFacingError) { return try ControlClient(path: paths.controlSocket, timeout: timeout) } catch {
            // A folder on the way there may be closed to the owner of the copy, as root's home is once root is given up.
            let isOwner = FileStatus.owner(database) == geteuid()
            let isClosed = error.code == .controlRefused && !isSocketGiven && isOwner
            guard error.code == .daemonNotRunning || isClosed else { throw error }
            guard let holder else {
                throw isClosed ? UserFacingError(.daemonNotRunning, "No daemon works on \(database).") : error
            }
            if isClosed, holder.socket == nil { throw error }
            let name = ProcessName.text(holder.process)
            do throws(UserFacingError) {
                let announced = (database: database, process: holder.process)
                let found = try ControlClient(path: holder.socket ?? "/", timeout: timeout, announced: announced)
                if !isSocketGiven { return found }
            } catch {
                // One that starts or stops has the lock, and for a moment no socket.
                if tries > 1, usleep(100_000) == 0 { return try reach(timeout: timeout, tries: tries - 1) }
                throw error.with(
                    "No daemon listens at \(paths.controlSocket), and \(name) holds the copy.",
                    suggestion: "If it is the daemon and stays so, restart it: it makes its socket again.",
                    next: "sudo systemctl restart prsnld")
            }
            throw UserFacingError(
                .daemonElsewhere,
                "No daemon listens at \(paths.controlSocket). That of \(database), \(name), listens at \(holder.socket ?? "")."
            )
        }
    }

    /// The user, the owner of the copy, to whom a program that is started here would lend root's terminal. Unlike this process it is
    /// open to every other one of that user (ptrace(2); prctl(2), "PR_SET_DUMPABLE"), which could read what root types.
    var terminalBorrower: String? { hasGivenUpRoot ? UserDatabase.user(geteuid()) : nil }

    /// The first step towards a copy is a login, where there is nothing to show to the server.
    func withFirstStep(_ error: UserFacingError) -> UserFacingError {
        guard error.code == .noDatabase else { return error }
        // It is to be corrected first.
        if let mistake { return mistake }
        let configuration = loaded.configuration
        guard !configuration.sync.anonymous, CredentialFile.used(self, configuration) == nil else { return error }
        return error.with(
            suggestion: "Log in, or name the file of an API key with api_key_file; then start the daemon.",
            next: "prsnlctl login --server \(configuration.serverURL?.text ?? "URL")")
    }

    /// The one item that a search for a text finds, where the text was given as an id and is none; `nil` where there is none, or
    /// more than one. Nothing is offered for a number, which is most likely one of the queue, and for what is too short to be
    /// the beginning of an id.
    func itemFound(by text: String) -> ListedItem? {
        // Only an offer: what is wrong was said already.
        guard text.utf8.count >= 4, text.contains(where: \.isLetter),
            let query = try? SearchQuery(text, now: TimeSource.system.now()), !query.isEmpty,
            let found = try? reader().search(query, limit: 1), !found.hasMore
        else { return nil }
        return found.items.first
    }

    /// Offers the item that was probably meant.
    func withFoundItem(_ error: UserFacingError, _ arguments: ParsedArguments?) -> UserFacingError {
        guard error.code == .itemUnknown, let arguments,
            let name = arguments.value("--text") ?? (arguments.operands.count == 1 ? arguments.operands.first : nil),
            let item = itemFound(by: name)
        else { return error }
        let words = CommandLine.arguments.dropFirst().map { $0 == name ? item.id : $0 }
        return error.with(suggestion: Self.offer(item), next: NextCommand(["prsnlctl"] + words))
    }

    static func offer(_ item: ListedItem) -> Advice {
        "A search for it finds one item, \"\(TextLayout.cut(item.title ?? item.url ?? item.id, to: 60))\"."
    }

    /// This very command, as root.
    static func sudo() -> NextCommand { NextCommand(["sudo", "prsnlctl"] + CommandLine.arguments.dropFirst()) }
}
