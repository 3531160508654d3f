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
    let format: OutputFormat
    let errorStyle: TextStyle
    let environment: ProcessEnvironment
    /// Of `--config` or `--instance`.
    let configurationFile: String?
    /// Only a configuration of the person's own counts.
    let onlyOwn: Bool
    /// The configuration of a unit that a login is to make, where it is not there yet.
    let mayMakeFile: Bool
    /// The daemon that is meant.
    let unit: ServiceUnit
    /// The command may queue writes.
    let mayWrite: Bool
    /// Root has given the command, and it runs as the owner of the copy.
    var hasGivenUpRoot = false

    /// - Parameter onlyReads: it needs no more of the configuration than where socket and file are, so that a mistake elsewhere
    ///   in it is only said.
    init(
        _ arguments: ParsedArguments, _ environment: ProcessEnvironment, onlyReads: Bool
    ) throws(UserFacingError) {
        if let socket = arguments.value("--socket"), let database = arguments.value("--database") {
            self.init(
                ClientPaths(
                    controlSocket: environment.absolute(socket), database: RealPath.of(environment.absolute(database))),
                isFileGiven: false, file: try Self.configurationFile(arguments), onlyOwn: false,
                ServiceUnit(
                    DefaultPaths.kind(ofUnit: "prsnld"), options: Self.options(arguments),
                    rootAccess: Self.rootAccess(environment)), arguments,
                environment)
            return
        }
        let file = try Self.configurationFile(arguments)
        let (loaded, problems) = try Self.load(
            file, environment, onlyOwn: Self.isForThemselves(arguments),
            mayBeMissing: Self.mayMakeFile(arguments, file), onlyReads: onlyReads)
        self.init(arguments, environment, loaded, file: file)
        for warning in loaded.warnings { say("warning: \(warning)") }
        for problem in problems { say("ignored here, but the daemon will not start with it: \(problem.description)") }
    }

    /// With a configuration that was read before, as far as that went.
    init(
        _ arguments: ParsedArguments, _ environment: ProcessEnvironment, _ loaded: LoadedConfiguration, file: String?
    ) {
        let socket = arguments.value("--socket").map(environment.absolute)
        let database = arguments.value("--database").map(environment.absolute)
        var paths = ClientPaths(loaded) { access($0, F_OK) == 0 }
        if let socket { paths.controlSocket = socket }
        if let database { paths.database = database }
        // As the daemon does: it works in the folder of the file itself.
        paths.database = RealPath.of(paths.database)
        self.init(
            paths, isFileGiven: database != nil && socket == nil, file: file, onlyOwn: Self.isForThemselves(arguments),
            ServiceUnit(
                Self.kind(loaded, given: file), options: Self.options(arguments),
                rootAccess: Self.rootAccess(environment)), arguments, environment)
    }

    private init(
        _ paths: ClientPaths, isFileGiven: Bool, file: String?, onlyOwn: Bool, _ unit: ServiceUnit,
        _ arguments: ParsedArguments, _ environment: ProcessEnvironment
    ) {
        self.onlyOwn = onlyOwn
        mayWrite = arguments.command.map { $0.options.contains(.wait) || $0.name == "mcp" } ?? false
        mayMakeFile = Self.mayMakeFile(arguments, file)
        self.unit = unit
        self.environment = environment
        configurationFile = file
        self.paths = paths
        self.isFileGiven = isFileGiven
        isSocketGiven = arguments.value("--socket") != nil
        errorStyle = TextStyle(descriptor: STDERR_FILENO, environment: environment.variables, unit)
        let style = TextStyle(descriptor: STDOUT_FILENO, environment: environment.variables, unit)
        format = arguments.has("--json") ? .json : .text(style)
    }

    /// A person who names a server begins a copy of their own: the machine's is root's to configure, and the account of one
    /// person is not to end in it.
    private static func isForThemselves(_ arguments: ParsedArguments) -> Bool {
        arguments.command?.name == "login" && arguments.value("--server") != nil && geteuid() != 0
            && options(arguments).isEmpty
    }

    /// A login that names its server can make the configuration of the machine's daemon, or of an instance.
    private static func mayMakeFile(_ arguments: ParsedArguments, _ file: String?) -> Bool {
        arguments.command?.name == "login" && arguments.value("--server") != nil
            && file.flatMap(DefaultPaths.unit(ofConfigurationFile:)) != nil
    }

    /// The daemon that is meant, also where its configuration is wrong or cannot be read.
    ///
    /// - Throws: `usage`.
    static func unit(
        _ arguments: ParsedArguments, _ environment: ProcessEnvironment
    ) throws(UserFacingError) -> ServiceUnit {
        let file = try configurationFile(arguments)
        let (loaded, _) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true, onlyOwn: isForThemselves(arguments))
        return ServiceUnit(
            kind(loaded, given: file), options: options(arguments), rootAccess: rootAccess(environment))
    }

    /// Those that say which daemon is meant, as they were given.
    static func options(_ arguments: ParsedArguments) -> [String] {
        ["--config", "--instance", "--socket", "--database"].flatMap { option in
            arguments.value(option).map { [option, $0] } ?? []
        }
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
    static func configurationFile(_ arguments: ParsedArguments) throws(UserFacingError) -> String? {
        guard let instance = arguments.value("--instance") else { return arguments.value("--config") }
        guard arguments.value("--config") == nil else {
            throw UserFacingError(.usage, "--instance and --config both name the configuration; give one of them.")
        }
        try DefaultPaths.checkInstance(instance)
        return DefaultPaths.configurationFile(ofInstance: instance)
    }

    /// All settings, for commands that do something in the daemon's place.
    func configuration() throws(UserFacingError) -> LoadedConfiguration {
        try Self.load(configurationFile, environment, onlyOwn: onlyOwn, mayBeMissing: mayMakeFile, onlyReads: false)
            .loaded
    }

    private static func load(
        _ file: String?, _ environment: ProcessEnvironment, onlyOwn: Bool, mayBeMissing: Bool, onlyReads: Bool
    ) throws(UserFacingError) -> (loaded: LoadedConfiguration, problems: [ConfigurationProblem]) {
        let (loaded, problems) = LoadedConfiguration.examine(
            file: file, environment: environment, skippingUnreadable: true, onlyOwn: onlyOwn, mayBeMissing: mayBeMissing
        )
        guard problems.isEmpty || onlyReads && !problems.contains(where: \.hidesPlaces) else {
            throw ConfigurationFailure.missingInstance(file) ?? ConfigurationFailure(problems: problems).userFacing
        }
        return (loaded, problems)
    }

    /// Talk, as against data.
    func say(_ text: Advice) { StandardStream.error.write("prsnlctl: \(errorStyle.text(text))\n") }

    var isText: Bool { if case .text = format { true } else { false } }

    /// - Parameter other: the daemon that it is about, where that is another than the one that was meant.
    func write(_ report: some Report, of other: ServiceUnit? = nil) throws(UserFacingError) {
        try print(try format.render(report, other ?? unit))
    }

    /// An answer that says what failed: in the JSON with the rest, for a person on stderr.
    func write(_ report: some Report, with error: UserFacingError?) throws(UserFacingError) {
        try write(report)
        guard let error, isText else { return }
        StandardStream.error.write(FailureReport(error).text(program: "prsnlctl", errorStyle))
    }

    func print(_ text: String) throws(UserFacingError) {
        guard StandardStream.output.write(text) else {
            throw UserFacingError(
                .diskError, "The answer could not be written to stdout.",
                consequence: mayWrite ? "The command itself was carried out." : nil,
                recoverySuggestion: mayWrite
                    ? "Check where stdout goes to. `prsnlctl queue` shows what waits to be sent."
                    : "Check where stdout goes to.")
        }
    }

    /// The answer of the daemon, or of this process: see `RequestClient`.
    func answer<Asked: Request>(_ request: Asked) throws(UserFacingError) -> Asked.Answer {
        var client = RequestClient(self)
        return try client.ask(request)
    }

    /// The process that holds the copy, most likely its daemon. A command of prsnlctl lets go of it within a second.
    var holder: (process: Int32, socket: String?)? {
        DatabaseLock.holder(database: paths.database).flatMap { ProcessName.of($0.process) == "prsnlctl" ? nil : $0 }
    }

    /// The program that holds SQLite's write lock of the copy for longer than an instant, and is not the daemon.
    var otherWriter: String? {
        func writer() -> Int32? { DatabaseLock.otherWriter(database: paths.database) }
        guard let process = writer(), usleep(100_000) == 0, writer() == process else { return nil }
        return ProcessName.text(process)
    }

    /// The daemon at the socket that is configured. Where none listens there, as without XDG_RUNTIME_DIR, the one that holds the copy.
    ///
    /// - Throws: `daemon_elsewhere` where it listens at another socket than `--socket`, else as `ControlClient`.
    func reach(timeout: Duration = .seconds(5)) throws(UserFacingError) -> ControlClient {
        try reach(timeout, tries: 20)
    }

    private func reach(_ timeout: Duration, tries: Int) throws(UserFacingError) -> ControlClient {
        do throws(UserFacingError) { return try ControlClient(path: paths.controlSocket, timeout: timeout) } catch {
            // A folder on the way there may be closed to the owner of the copy, as root's home is once root is given up.
            let isOwner = FileStatus.owner(paths.database) == geteuid()
            let isClosed = error.code == .controlRefused && !isSocketGiven && isOwner
            guard error.code == .daemonNotRunning || isClosed else { throw error }
            guard let holder else {
                throw isClosed ? UserFacingError(.daemonNotRunning, "No daemon works on \(paths.database).") : error
            }
            if isClosed, holder.socket == nil { throw error }
            let name = ProcessName.text(holder.process)
            do throws(UserFacingError) {
                let announced = (database: paths.database, process: holder.process)
                let found = try ControlClient(path: holder.socket ?? "/", timeout: timeout, announced: announced)
                if !isSocketGiven { return found }
            } catch {
                // One that starts or stops has the lock, and for a moment no socket.
                if tries > 1, usleep(100_000) == 0 { return try reach(timeout, tries: tries - 1) }
                throw error.with(
                    "No daemon listens at \(paths.controlSocket), and \(name) holds the copy.",
                    suggestion: "If it is the daemon and stays so, restart it: it makes its socket again.",
                    next: "sudo systemctl restart prsnld")
            }
            throw UserFacingError(
                .daemonElsewhere,
                "No daemon listens at \(paths.controlSocket). That of \(paths.database), \(name), listens at \(holder.socket ?? "")."
            )
        }
    }

    /// The user, the owner of the copy, to whom a program that is started here would lend root's terminal. Unlike this process it is
    /// open to every other one of that user (ptrace(2); prctl(2), "PR_SET_DUMPABLE"), which could read what root types.
    var terminalBorrower: String? { hasGivenUpRoot ? UserDatabase.user(geteuid()) : nil }

    /// Says when the daemon is silent.
    func connect() throws(UserFacingError) -> ControlClient {
        var client = try reach()
        client.whenSilent = { [self] asksServer in
            say(asksServer ? "waiting for the server's answer" : "the daemon is not responding; waiting")
        }
        return client
    }

    /// The first step towards a copy is a login, where there is nothing to show to the server.
    func withFirstStep(_ error: UserFacingError) -> UserFacingError {
        guard error.code == .noDatabase else { return error }
        do throws(UserFacingError) {
            let configuration = try configuration().configuration
            guard !configuration.sync.anonymous, try CredentialFile.used(self) == nil else { return error }
            return error.with(
                suggestion: "Log in, or name the file of an API key with api_key_file; then start the daemon.",
                next: "prsnlctl login --server \(configuration.serverURL?.text ?? "URL")")
        } catch {
            // What is wrong with the configuration, its own command says.
            return error
        }
    }

    /// The one item that a search for a text finds, where the text was given as an id and is none; `nil` where there is none, or
    /// more than one. Nothing is offered for a number, which is most likely one of the queue, and for what is too short to be
    /// the beginning of an id.
    func itemFound(by text: String) -> ListedItem? {
        guard text.utf8.count >= 4, text.contains(where: \.isLetter) else { return nil }
        do throws(UserFacingError) {
            let query = try SearchQuery(text, now: TimeSource.system.now())
            guard !query.isEmpty else { return nil }
            let found = try StoreReader(path: paths.database).search(query, limit: 1)
            return found.hasMore ? nil : found.items.first
        } catch {
            // Only an offer: what is wrong was said already.
            return nil
        }
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
