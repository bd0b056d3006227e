// The settings of `cumulusd`: each one is a flag, a variable and a key of the file, by one name.

import ArgumentParser
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Foundation
import Logging
import Testing

@testable import CumulusServer

@Suite struct SettingTests {
    /// What `run` would use with these words, variables and members of the file.
    private func configuration(
        _ words: [String] = [],
        _ variables: [String: String] = [:],
        file members: String? = nil
    ) throws -> Configuration {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        if let members { try Data("{\(members)}".utf8).write(to: file) }
        let run = try #require(try Main.parseAsRoot(words) as? Run)
        return try Configuration(
            flags: run.flags.settings.texts,
            environment: variables,
            file: members == nil ? run.flags.config : file.path
        )
    }

    /// Scripts, images and files of operators have them.
    @Test func noNameIsLostOrNew() {
        let names = """
            access-lease access-lease-all advertise audit-megabytes bytes-per-second cache \
            calls-at-once calls-burst calls-per-second cluster-key container data disk-reserve \
            drain-milliseconds feed-retention-days from-backup grpc http insecure \
            insecure-credentials issuers limits listen log-format log-keep-seconds log-level \
            log-megabytes lost-assets metrics-from metrics-token-file no-console peers profile \
            pushes read-only readers registration replicas retention-days share-url standby \
            store store-password-file threads tls-authority tls-certificate tls-key \
            trusted-proxies web-apps web-host web-url webhooks
            """
        #expect(Settings.rows.map(\.name).sorted() == names.split(separator: " ").map(String.init))
        let keys = Dictionary(uniqueKeysWithValues: Settings.rows.map { ($0.name, $0.fileKey) })
        #expect(keys["web-url"] == "webUrl")
        #expect(keys["tls-certificate"] == "tlsCertificate")
        #expect(keys["data"] == "data")
    }

    /// A flag goes before the environment, that before the file, and that before the default.
    @Test(arguments: Settings.rows.map(\.name))
    func everySettingIsAFlagAVariableAndAKey(name: String) throws {
        let setting = try #require(Settings.rows.first { $0.name == name })
        let variables = [
            "CUMULUS_" + name.uppercased().replacing("-", with: "_"): "of the environment"
        ]
        let members = #""\#(setting.fileKey)": "of the file""#
        let words = setting.unit == nil ? ["--\(name)"] : ["--\(name)", "of a flag"]
        func expect(
            _ configuration: Configuration,
            _ text: String,
            _ origin: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let value = configuration.values[name]
            #expect(value?.value == text, sourceLocation: sourceLocation)
            #expect(value?.origin.hasPrefix(origin) == true, sourceLocation: sourceLocation)
            let others = configuration.values.filter { $0.key != name }
            #expect(
                others.values.allSatisfy { $0.origin == "default" },
                sourceLocation: sourceLocation
            )
        }
        let flagText = setting.unit == nil ? "true" : "of a flag"
        expect(try configuration(words, variables, file: members), flagText, "flag")
        expect(
            try configuration([], variables, file: members),
            "of the environment",
            "environment CUMULUS_"
        )
        expect(try configuration([], [:], file: members), "of the file", "file /")
        expect(try configuration(), setting.standard, "default")
    }

    @Test func aRepeatedFlagIsAList() throws {
        let words = ["--web-host", "a.example", "--web-host", "b.example"]
        #expect(try configuration(words)[\.web.hosts] == "a.example,b.example")
        #expect(try configuration(["--web-host=a,b"])[\.web.hosts] == "a,b")
    }

    @Test func defaultsCanBeUsed() throws {
        let configuration = try configuration()
        #expect(try configuration.limits().perCaller == .standard)
        #expect(try configuration.schedule().retentionMilliseconds == 30 * 86_400_000)
        #expect(try configuration.accessLease() == 0)
        #expect(try configuration.auditBytes() == 16 << 20)
        #expect(try configuration.shareURL() == "cumulus:")
        #expect(try configuration.diskReserve() == 1 << 30)
        #expect(try configuration[\.engine.cache] == nil)
        #expect(try configuration[\.node.logLevel] == .info)
        #expect(try configuration[\.node.logFormat] == .text)
        #expect(try configuration[\.node.drain] == 8_000)
        for setting in [\Settings.node.lostAssets, \.node.readOnly, \.tls.insecure] {
            #expect(try !configuration[setting])
        }
    }

    /// All of them name the setting.
    @Test(arguments: [
        ("--threads", "0", "threads: 0 is not between 1 and 256"),
        ("--replicas", "some", "replicas: 'some' is not a number from 0 on"),
        ("--log-format", "xml", "log-format: 'xml' is neither text nor json"),
        ("--log-megabytes", "0", "log-megabytes: 0 is not between 1 and 1048576"),
        ("--cache", "lots", "cache: 'lots' is no amount of memory; write something like 512MB"),
        (
            "--log-level", "loud",
            "log-level: 'loud' is not trace, debug, info, notice, warning, error or critical"
        ),
    ])
    func aTextThatIsNoValueIsNamed(flag: String, text: String, why: String) throws {
        let configuration = try configuration([flag, text])
        let problem = #expect(throws: StartProblem.self) {
            switch flag {
            case "--threads": _ = try configuration[\.engine.threads]
            case "--replicas": _ = try configuration[\.cluster.replicas]
            case "--log-format": _ = try configuration[\.node.logFormat]
            case "--log-megabytes": _ = try configuration[\.engine.logMegabytes]
            case "--cache": _ = try configuration[\.engine.cache]
            default: _ = try configuration[\.node.logLevel]
            }
        }
        #expect(problem?.description.hasPrefix(why) == true, "\(problem?.description ?? "")")
    }

    @Test(arguments: ["true", "1", "yes", "false", "0", "no", "", "on"])
    func aFlagInTheFileIsTrueOrFalse(text: String) throws {
        let configuration = try configuration(file: #""readOnly": "\#(text)""#)
        guard text != "on" else {
            #expect(throws: StartProblem.self) { try configuration[\.node.readOnly] }
            return
        }
        #expect(try configuration[\.node.readOnly] == ["true", "1", "yes"].contains(text))
    }

    /// Numbers and truth values stand in the file as themselves or as texts.
    @Test(arguments: ["7", "7.0", #""7""#])
    func aNumberInTheFileIsANumberOrAText(text: String) throws {
        #expect(try configuration(file: #""threads": \#(text)"#)[\.engine.threads] == 7)
    }

    @Test func anUnknownKeyOfTheFileIsNamed() throws {
        let problem = #expect(throws: StartProblem.self) {
            try configuration(file: #""log-level": "debug""#)
        }
        let message = problem?.description ?? ""
        #expect(message.contains("'log-level' is no setting; known are accessLease, "))
        #expect(message.contains(" logLevel, "))
    }

    @Test func theLimitsAreReadFromTheirSetting() throws {
        let words = ["--limits", "itemsPerRequest=7,idleMilliseconds=5000,typesPerCaller=3"]
        let limits = try configuration(words).limits()
        #expect(limits.itemsPerRequest == 7)
        #expect(limits.idleMilliseconds == 5_000)
        #expect(limits.perCallerGrowth.types == 3)
    }

    // MARK: The console

    /// The console tells where each value comes from, and of what leads to a key only that it is
    /// set.
    @Test func theConsoleIsToldNoSecret() throws {
        let configuration = try configuration(
            ["--data", "/srv", "--tls-key", "/etc/key.pem"],
            ["CUMULUS_CLUSTER_KEY": "/etc/cluster.key"]
        )
        let shown = Dictionary(uniqueKeysWithValues: configuration.shown.map { ($0.name, $0) })
        #expect(shown.keys.sorted() == Settings.rows.map(\.name).sorted())
        #expect(shown["data"]?.value == "/srv")
        #expect(shown["data"]?.origin == "flag")
        #expect(shown["data"]?.group == "The node and its log")
        #expect(shown["tls-key"]?.value == nil)
        #expect(shown["tls-key"]?.origin == "flag")
        #expect(shown["cluster-key"]?.value == nil)
        #expect(shown["cluster-key"]?.origin == "environment CUMULUS_CLUSTER_KEY")
        #expect(shown["peers"]?.value == "")
        let hidden = Settings.rows.filter(\.leadsToSecret).map(\.name)
        #expect(
            hidden.sorted() == [
                "cluster-key", "metrics-token-file", "store-password-file", "tls-key",
            ]
        )
    }

    @Test func thePasswordOfADatabaseIsShownToNobody() throws {
        let configuration = try configuration(["--store", "postgres://cumulus:geheim@db:5432/c"])
        let store = configuration.shown.first { $0.name == "store" }
        #expect(store?.value == "postgres://cumulus:…@db:5432/c")
        #expect(configuration[\.node.store].contains("geheim"))
    }

    @Test func aSecretThatIsNotSetIsToldAsThat() throws {
        let key = try configuration().shown.first { $0.name == "tls-key" }
        #expect(key?.value == "")
        #expect(key?.origin == "default")
    }
}
