// `cumulus migrate`: a container of CloudKit's web services, taken over into one here. The work is
// in `Migration` of `CumulusTransfer`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

/// The side from which records come.
struct SourceOptions: ParsableArguments {
    @Option(help: "URL of the web services: Apple's, or a node's --http.")
    var from = "https://api.apple-cloudkit.com"
    @Option(help: "Name of the container there; the same as here if left out.")
    var sourceContainer: String?
    @Option(help: "development or production there; the same as here if left out.")
    var sourceEnvironment: String?
    @Option(help: "PEM file with a server-to-server key: the public database is copied.")
    var sourceKey: String?
    @Option(name: .customLong("source-key-id"), help: "The id of that key.")
    var sourceKeyID: String?
    @Option(
        help: """
            File with a user's web token: the user's private and shared zones are copied. With a \
            node as source it may be an access token.
            """
    )
    var sourceTokenFile: String?
    @Option(help: "The app's API token, which Apple asks for beside a user's token.")
    var apiToken: String?

    func validate() throws {
        guard (sourceKey == nil) != (sourceTokenFile == nil) else {
            throw ValidationError(
                "name --source-key for the public database, or --source-token-file for a user's."
            )
        }
        guard (sourceKey == nil) == (sourceKeyID == nil) else {
            throw ValidationError("--source-key and --source-key-id belong together.")
        }
        guard sourceKey == nil || apiToken == nil else {
            throw ValidationError("--api-token belongs to a user's token, not to a key.")
        }
        _ = try environment(beside: .development)
    }

    func environment(beside other: Environment) throws -> Environment {
        guard let sourceEnvironment else { return other }
        guard let environment = Environment(name: sourceEnvironment) else {
            throw ValidationError("'\(sourceEnvironment)' is neither development nor production.")
        }
        return environment
    }

    func credentials() throws -> SourceCredentials {
        if let sourceKey, let sourceKeyID {
            return .key(
                try KeyFile.reading(sourceKey) { try SourceKey(id: sourceKeyID, pem: $0) }
            )
        }
        let named = try TokenFile.token(sourceTokenFile ?? "", "the user's token")
        return .user(token: named, api: apiToken)
    }
}

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Take a container over from CloudKit's web services, as the operator.",
        discussion: help(
            "cumulus migrate --schema app.ckdb --source-key eckey.pem --source-key-id ID",
            "cumulus migrate --schema app.ckdb --source-token-file ada.token --api-token TOKEN "
                + "--user ada",
            "cumulus migrate --schema app.ckdb --source-key eckey.pem --source-key-id ID --follow",
            "cumulus migrate --schema app.ckdb --source-key eckey.pem --source-key-id ID --verify",
            "cumulus migrate --from http://127.0.0.1:7480 --schema app.ckdb --source-key k.pem "
                + "--source-key-id ID",
            note: """
                With a server's key the public database is copied; with a user's web token the \
                zones that the user has and that others share with it, its subscriptions and its \
                own record. The schema's file is what CloudKit's console exports; it is added to \
                the development schema here. With --environment production all of the development \
                schema is then deployed to production, unless production has it already. \
                Before anything is made here, one record of each type is asked for. Run it once \
                per user, and then for the public database, with the same --state.

                What was interrupted goes on where it was, if it is run again. What failed is \
                tried again by each run. --follow copies what changes at the source, until it is \
                interrupted. --verify compares records, creators, files, zones, shares, \
                subscriptions and the user's record both ways. It changes no data and makes no \
                users; it reads as the users here, by access tokens that it makes and ends.

                Records of the public database are saved as their creators, and shares have their \
                participants: a user is made for each, called 'migrated_…', unless --users, or a \
                run for that user, gave it a name before. When and by whom a record was created \
                and modified is kept in its fields originCreated, originCreatedBy, originModified \
                and originModifiedBy, since a node sets its own; originContainer says from where \
                it came. In default zones only such records are deleted when they are gone at the \
                source: with --no-origin none is.

                The exit code is 1 as long as something is not taken over, or differs; each is \
                told with its place, of more than three alike a count.
                """
        )
    )

    @OptionGroup(title: "Source") var source: SourceOptions
    @Option(help: "The source's schema, in the schema language.") var schema: String
    @Option(help: "Name here of the user whose token it is; a new user is made if needed.")
    var user: String?
    @Option(help: "File with lines of a user record name there, a space, and a user's name here.")
    var users: String?
    @Option(help: "File that keeps how far the migration is.") var state = "migration.json"
    @Flag(
        help: """
            Leave away the fields with the source's times and users; deletions in default zones \
            stay here.
            """
    )
    var noOrigin = false
    @Flag(help: "Go on with what changes at the source, until interrupted.") var follow = false
    @Option(help: "Seconds between two looks at the source, with --follow.") var every = 30.0
    @Flag(help: "Compare both sides and say what differs; change no data.") var verify = false
    @OptionGroup var encryption: EncryptionOption
    @OptionGroup var scope: ScopeOptions
    @OptionGroup var connection: OperatorConnection
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard user == nil || source.sourceTokenFile != nil else {
            throw ValidationError("--user belongs to a --source-token-file, not to a key.")
        }
        guard !(follow && verify) else {
            throw ValidationError("--follow and --verify exclude each other.")
        }
        guard (1...86_400).contains(every) else {
            throw ValidationError("--every must be 1 to 86400 seconds.")
        }
    }

    private static let standardTimeout = 600.0

    func run() async throws {
        let options = Migration.Options(
            isOfUser: source.sourceTokenFile != nil,
            user: user,
            schema: try readSchema(),
            keepsOrigin: !noOrigin,
            names: try users.map(MigrateCommand.names) ?? [:]
        )
        let patience = Duration.seconds(
            connection.nodes.timeout ?? MigrateCommand.standardTimeout
        )
        let address = try SourceAddress(
            base: source.from,
            container: source.sourceContainer ?? scope.containerName,
            environment: source.environment(beside: scope.environmentValue())
        )
        let credentials = try source.credentials()
        let client = SourceClient(
            address,
            credentials,
            over: HTTPTransport(),
            patience: patience
        )
        let result = await Result {
            try await connection.withOperator(timeout: 60) { node in
                try await run(client, node, options, patience)
            }
        }
        await client.close()
        let report = try result.get()
        try output.show(report.json, rows: [[report.text]])
        if let code = report.exitCode { throw code }
    }

    private func run(
        _ client: SourceClient,
        _ node: NodeOperator,
        _ options: Migration.Options,
        _ patience: Duration
    ) async throws -> MigrationReport {
        var configuration = try connection.nodes.configuration(timeout: 60)
        configuration.environment = try scope.environmentValue()
        configuration.encryptionKeys = try encryption.keys()
        // A node that goes away is waited for.
        configuration.failsFast = false
        let target = MigrationTarget(
            node,
            configuration,
            container: scope.containerName,
            patience: patience
        )
        let result: Result<MigrationReport, any Error> = await Result {
            let migration = try await Migration(
                from: client,
                into: target,
                state: state,
                options,
                progress: ProgressBar(total: nil)
            )
            if verify { return try await migration.verify() }
            guard follow else { return try await migration.copy() }
            let interruption = Interruption {}
            defer { interruption.stopListening() }
            return try await migration.copy(following: .seconds(every)) { interruption.hasCome }
        }
        await target.close()
        return try result.get()
    }

    private func readSchema() throws -> Schema {
        let content = try InputFile.content(schema, "the schema")
        guard let text = String(utf8: Bytes(content)[...]) else {
            throw InputProblem("\(schema) is no text in UTF-8")
        }
        do {
            return try Schema(ckdb: text)
        } catch {
            throw InputProblem("\(schema):\(error)")
        }
    }

    /// The users that a file names: a line each, or an empty one.
    private static func names(_ file: String) throws -> [String: String] {
        let content = try InputFile.content(file, "the users")
        guard let text = String(utf8: Bytes(content)[...]) else {
            throw InputProblem("\(file) is no text in UTF-8")
        }
        return try Migration.names(in: text, of: file)
    }
}
