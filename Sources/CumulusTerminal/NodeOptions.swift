// Options that all commands share: the nodes to ask, and how to reach them.
//
// The groups of options of `cumulus` hold them, and so do the options of `cumulus-bench`. Where the
// values come from is the business of `Setting`.

package import ArgumentParser
package import Cumulus
import CumulusSystem

/// The nodes to ask, and how to reach them.
package struct NodeOptions: ParsableArguments {
    @Option(
        help: """
            Address of a node, host:port or host; several with commas, or repeated: the first that \
            answers is asked.
            """
    )
    package var endpoint: [String] = []
    @Option(help: "Encrypt connections: automatic (all but those to this machine), always, never.")
    package var tls: String?
    @Option(help: "PEM file with the authority whose certificates nodes show.")
    package var authority: String?
    @Option(help: "Seconds that a call may take, retries included (default: 10; long work: more).")
    package var timeout: Double?

    package init() {}

    package func validate() throws {
        _ = try tlsValue()
        guard timeout.map({ $0 > 0 && $0 <= 3_600 }) ?? true else {
            throw ValidationError("--timeout must be more than 0 and at most 3600 seconds.")
        }
        guard !named.isEmpty else { throw ValidationError("--endpoint names no address.") }
        for text in named where Container.Configuration.address(from: text) == nil {
            throw NodeOptions.noAddress("'\(text)' (\(endpointSetting.source))")
        }
    }

    /// Throws if several nodes are named, for what is done to one node: nobody should have to guess
    /// to which.
    package func checkSingle() throws {
        guard endpoints.count > 1 else { return }
        throw ValidationError(
            "This is about one node, and \(endpointSetting.source) names \(endpoints.count): name "
                + "the one with --endpoint."
        )
    }

    private var endpointSetting: Setting {
        Setting(
            .endpoint,
            flag: endpoint.isEmpty ? nil : endpoint.joined(separator: ","),
            standard: "127.0.0.1:7420"
        )
    }

    private var tlsSetting: Setting { Setting(.tls, flag: tls, standard: "automatic") }

    private var authoritySetting: Setting { Setting(.authority, flag: authority) }

    /// The settings for `cumulus config show`.
    package var settings: [Setting] {
        let timeout = Setting(.timeout, flag: timeout.map { "\($0)" }, standard: "10.0")
        return [endpointSetting, tlsSetting, authoritySetting, timeout]
    }

    /// The address that an option's value means.
    package static func address(_ text: String) throws -> String {
        if let address = Container.Configuration.address(from: text) { return address }
        throw noAddress("'\(text)'")
    }

    private static func noAddress(_ what: String) -> ValidationError {
        ValidationError("\(what) is no address; write \(Container.Configuration.addressForm).")
    }

    /// The addresses as they were written.
    private var named: [String] {
        endpointSetting.value.split(separator: ",").map { $0.trimmed }
    }

    package var endpoints: [String] {
        named.compactMap { Container.Configuration.address(from: $0) }
    }

    /// Throws if a token of the profile would be shown to a node that is not the profile's.
    package func checkAddressees(of token: Setting) throws {
        guard token.isOfProfile, let profile = Setting.usableProfile,
            let kept = profile.values[.endpoint]
        else { return }
        let own = kept.split(separator: ",").compactMap {
            Container.Configuration.address(from: $0.trimmed)
        }
        guard let other = endpoints.first(where: { !own.contains($0) }) else { return }
        throw UsageProblem(
            "profile '\(profile.name)' has its token for \(kept) alone: to ask \(other), name a "
                + "token with --token-file, or another profile with --profile"
        )
    }

    private func tlsValue() throws -> Container.TLS {
        let setting = tlsSetting
        guard let tls = Container.TLS(rawValue: setting.value) else {
            throw ValidationError(
                "'\(setting.value)' is not automatic, always or never (\(setting.source))."
            )
        }
        return tls
    }

    /// - Parameter standard: Seconds of a call, if no others are named.
    package func configuration(timeout standard: Double) throws -> Container.Configuration {
        _ = try Setting.profile.get()
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.timeout = .seconds(timeout ?? standard)
        configuration.failsFast = true
        configuration.tls = try tlsValue()
        configuration.authority = authoritySetting.file
        return configuration
    }
}
