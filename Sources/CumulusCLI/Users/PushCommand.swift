// `cumulus push`: the addresses at which a user's devices are woken, for the user and for the
// operator.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Register, list and end the addresses at which devices are woken.",
        discussion: help(
            "cumulus push list",
            "cumulus push end --all --user alice --token-file operator.token"
        ),
        subcommands: [List.self, End.self, Register.self, Services.self]
    )

    static let note = """
        A user sees and ends its own addresses, with its token. The operator names a user with \
        --user. Addresses belong to one container and environment.
        """
}

extension PushCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the addresses at which a user's devices are woken, oldest first.",
            discussion: help(
                "cumulus push list",
                "cumulus push list --user alice --token-file operator.token --json",
                note: PushCommand.note
                    + " An address whose session is over is not listed: nothing is sent there."
            )
        )

        @OptionGroup var owner: UserOwner
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let found = try await owner.ask {
                try await $0.pushAddresses()
            } asOperator: { node, user in
                let scope = owner.connection.scope
                return try await node.pushAddresses(
                    of: user,
                    in: scope.containerName,
                    try scope.environmentValue()
                )
            }
            try output.show(
                found,
                columns: ["SERVICE", "TOPIC", "LABEL", "DEVICE", "REGISTERED", "THIS", "ID"],
                json: { .object($0.members) },
                row: {
                    [
                        $0.name, $0.topic + ($0.isSandbox ? " (sandbox)" : ""), $0.label,
                        $0.deviceID, $0.registered.text, $0.isOfThis ? "yes" : "", $0.id,
                    ]
                }
            )
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End an address of a user, or all: nothing is sent there any more.",
            discussion: help(
                "cumulus push end 5f0c...e1",
                "cumulus push end --all --user alice --token-file operator.token",
                note: PushCommand.note + " An app registers again at its next launch."
            )
        )

        @Argument(help: "The address's id, as 'cumulus push list' shows it.") var id: String?
        @Flag(help: "End all of the user's addresses.") var all = false
        @OptionGroup var owner: UserOwner
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard all == (id == nil) else {
                throw ValidationError("Name the id of one address, or give --all.")
            }
        }

        func run() async throws {
            let count = try await owner.ask {
                guard let id else { return try await $0.endAllPushes() }
                return try await $0.endPush(id) ? 1 : 0
            } asOperator: { node, user in
                let scope = owner.connection.scope
                return try await node.endPushes(
                    id,
                    of: user,
                    in: scope.containerName,
                    try scope.environmentValue()
                )
            }
            try output.show(
                ["id": id.map(JSON.string) ?? .null, "ended": .integer(Int64(count))],
                rows: (id.map { [["address", $0]] } ?? []) + [["ended", "\(count)"]]
            )
        }
    }

    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an address at which a device of the user is woken.",
            discussion: help(
                "cumulus push register --fcm fcm-registration-token",
                "cumulus push register --apns 00fc13adff785122 --topic com.example.notes --sandbox",
                "cumulus push register --web-push subscription.json --label \"Ada's browser\"",
                note: """
                    Apps register by themselves; this is for tests, and for what has no library. \
                    --web-push names a file with what PushSubscription.toJSON() gives in a browser.
                    """
            )
        )

        @Option(help: "Device token of APNs, in hexadecimal digits.") var apns: String?
        @Option(help: "With --apns: the bundle id of the app.") var topic: String?
        @Flag(help: "With --apns: the development environment of APNs.") var sandbox = false
        @Option(help: "Registration token of FCM.") var fcm: String?
        @Option(help: "JSON file of a browser's push subscription.") var webPush: String?
        @Option(help: "A text for people, in the list.") var label = ""
        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard [apns, fcm, webPush].compactMap(\.self).count == 1 else {
                throw ValidationError("Give one of --apns, --fcm and --web-push.")
            }
            guard apns.map({ Bytes(hex: $0) != nil }) ?? true else {
                throw ValidationError("--apns takes pairs of hexadecimal digits.")
            }
            guard (apns == nil) == (topic == nil), apns != nil || !sandbox else {
                throw ValidationError("--topic goes with --apns, and --sandbox with both.")
            }
        }

        func run() async throws {
            let address = try address()
            let id = try await connection.withContainer { try await $0.register(address) }
            try output.show(
                ["id": .string(id), "service": .string(address.service.name)],
                rows: [["address", id], ["service", address.service.name]]
            )
        }

        private func address() throws -> PushAddress {
            if let fcm { return .fcm(token: fcm, label: label) }
            if let webPush { return try browser(webPush) }
            return .apns(
                deviceToken: apns.flatMap { Bytes(hex: $0) } ?? [],
                topic: topic ?? "",
                isSandbox: sandbox,
                label: label
            )
        }

        private func browser(_ path: String) throws -> PushAddress {
            let json = try? JSONReader.read(Bytes(InputFile.content(path, "the subscription")))
            func key(_ name: String) -> Bytes? {
                guard case .string(let text)? = json?["keys"]?[name] else { return nil }
                return Base64URL.decode(text.utf8)
            }
            guard case .string(let endpoint)? = json?["endpoint"], let publicKey = key("p256dh"),
                let secret = key("auth")
            else {
                throw InputProblem(
                    "\(InputFile.name(path)) is not what PushSubscription.toJSON() gives: it needs "
                        + "endpoint, keys.p256dh and keys.auth"
                )
            }
            return .webPush(
                endpoint: endpoint,
                publicKey: publicKey,
                secret: secret,
                label: label
            )
        }
    }

    struct Services: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List what the cluster can wake devices with in a container.",
            discussion: help(
                "cumulus push services",
                "cumulus push services --json",
                note: """
                    KEY is what a web page subscribes with (applicationServerKey). An operator \
                    sets services up in the file of 'cumulusd --pushes'.
                    """
            )
        )

        @OptionGroup var connection: Connection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let offers = try await connection.withContainer { try await $0.pushOffers() }
            try output.show(
                offers,
                columns: ["SERVICE", "TOPICS", "KEY"],
                json: { offer in
                    [
                        "service": .string(offer.service.name),
                        "topics": .array(offer.topics.map { .string($0) }),
                        "publicKey": .string(Base64URL.encode(offer.publicKey)),
                    ]
                },
                row: {
                    [
                        $0.service.name, $0.topics.joined(separator: ", "),
                        Base64URL.encode($0.publicKey),
                    ]
                }
            )
        }
    }
}

extension RegisteredPush {
    fileprivate var name: String { service?.name ?? "unknown" }

    fileprivate var members: [JSON.Member] {
        [
            .init("id", .string(id)), .init("service", .string(name)),
            .init("topic", .string(topic)), .init("isSandbox", .bool(isSandbox)),
            .init("label", .string(label)), .init("device", .string(deviceID)),
            .init("registered", .string(registered.text)), .init("isOfThis", .bool(isOfThis)),
        ]
    }
}
