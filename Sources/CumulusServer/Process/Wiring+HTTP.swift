// The HTTP listener of the process, where a setting asks for one; and which addresses are safe.
//
// Called by `Wiring`. The listener shares the node's event loops, and shows its certificate.

import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTransport
import Logging

extension Wiring {
    /// The address of HTTP; nil if it is not served.
    func http() throws -> (host: String, port: Int)? {
        let text = configuration[\.web.address]
        let apps = try webApps()
        if !text.isEmpty {
            guard Endpoint.split(text) != nil else {
                throw StartProblem(
                    \.web.address,
                    "'\(text)' is no address; write one such as 127.0.0.1:7480"
                )
            }
            let address = try address(of: \.web.address)
            _ = try hosts(try site(at: address), address.host)
            _ = try proxies()
            _ = try metricsAccess()
            return address
        }
        guard apps == nil else {
            throw StartProblem(\.web.apps, "say where they call, with --http")
        }
        for setting in [
            \Settings.web.url, \.web.hosts, \.web.proxies, \.web.metricsFrom, \.web.metricsToken,
        ] where !configuration[setting].isEmpty {
            throw StartProblem(setting, "it is of no use without --http")
        }
        return nil
    }

    /// The address under which browsers reach the pages; nil if it is not known, so users can't
    /// sign in there.
    private func site(at address: (host: String, port: Int)) throws -> WebAddress? {
        var text = configuration[\.web.url]
        if text.isEmpty {
            if address.port == 0 || Endpoint.isWildcard(address.host) { return nil }
            let scheme = configuration[\.tls.certificate].isEmpty ? "http" : "https"
            let host = address.host.contains(":") ? "[\(address.host)]" : address.host
            text = "\(scheme)://\(host):\(address.port)"
        }
        while text.hasSuffix("/") { text.removeLast() }
        guard let site = WebAddress(text), site.query == nil else {
            throw StartProblem(
                \.web.url,
                "'\(text)' is no URL; write something like https://example.com"
            )
        }
        guard try site.isSecret || configuration[\.tls.insecure] else {
            throw StartProblem(
                \.web.url,
                "users would sign in over \(text); use https, or say --insecure"
            )
        }
        return site
    }

    /// The URL of the page for links that reset passwords; empty if the node has no such page.
    func resetURL() throws -> String {
        guard let address = try http() else { return "" }
        return try site(at: address).map(PasswordPages.resetURL) ?? ""
    }

    /// The hosts under which browsers find the node's pages.
    private func hosts(_ site: WebAddress?, _ listener: String) throws -> WebHosts {
        let text = configuration[\.web.hosts]
        let named = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
        for name in named.map(String.init) where !WebHosts.isHost(name) {
            throw StartProblem(
                \.web.hosts,
                "'\(name)' is no host; write a name without a port, such as node.example.com"
            )
        }
        return WebHosts(named.map(String.init) + [listener] + (site.map { [$0.host] } ?? []))
    }

    /// The proxies whose word counts on where a request comes from.
    private func proxies() throws -> TrustedProxies {
        do throws(AddressList.Problem) {
            return try TrustedProxies(configuration[\.web.proxies])
        } catch {
            throw StartProblem(\.web.proxies, "\(error)")
        }
    }

    /// Who is told the metrics, beside this machine.
    private func metricsAccess() throws -> MetricsAccess {
        let hosts: AddressList
        do throws(AddressList.Problem) {
            hosts = try AddressList(configuration[\.web.metricsFrom])
        } catch {
            throw StartProblem(\.web.metricsFrom, "\(error)")
        }
        let path = configuration[\.web.metricsToken]
        if path.isEmpty { return MetricsAccess(hosts: hosts) }
        let logger = logger
        do {
            let file = try WatchedFiles(
                [path],
                onRenewal: { Wiring.tell(logger, of: "token for metrics", $0) },
                make: { try Wiring.digest(ofTokenIn: path) }
            )
            return MetricsAccess(hosts: hosts) { file.current }
        } catch {
            throw StartProblem(\.web.metricsToken, "\(error)")
        }
    }

    private static func digest(ofTokenIn path: String) throws -> [UInt8] {
        guard let digest = MetricsAccess.digest(of: try OperatorFile.line(of: path)) else {
            throw OperatorFile.Unusable(
                "the token in \(path) is too short; write one with \(MetricsAccess.shortestToken) "
                    + "or more characters, such as 'openssl rand -hex 32' makes"
            )
        }
        return digest
    }

    /// The web apps of the operator's file by the SHA-256 of their tokens, which is read again when
    /// it changes; nil: there is no file.
    func webApps() throws -> (@Sendable () -> [[UInt8]: WebAPIToken])? {
        let path = configuration[\.web.apps]
        if path.isEmpty { return nil }
        let logger = logger
        do {
            let file = try WatchedFiles(
                [path],
                onRenewal: { Wiring.tell(logger, of: "file of web apps", $0) },
                make: { try Wiring.readApps(path) }
            )
            return { file.current }
        } catch {
            throw StartProblem(\.web.apps, "\(error)")
        }
    }

    /// Says which apps of the file give way to one of the cluster with the same token or name.
    ///
    /// A node that is joining doesn't know yet.
    private func tellReplaced(_ apps: [[UInt8]: WebAPIToken], _ node: Node) async {
        for (digest, app) in apps {
            var known = try? await node.webApp(token: digest)
            if known == nil, !app.name.isEmpty {
                known = try? await node.webApp(app.name, in: app.scope)
            }
            guard let known else { continue }
            logger.warning(
                "a web app of the file does not count: the cluster has one with its token or name",
                metadata: [
                    "container": "\(known.scope.container)",
                    "environment": "\(known.scope.environment.name)", "name": "\(known.name)",
                ]
            )
        }
    }

    private static func readApps(_ path: String) throws -> [[UInt8]: WebAPIToken] {
        let text = try OperatorFile.bytes(of: path, limit: 1 << 20)
        do throws(WebApps.Problem) {
            return try WebApps.all(text)
        } catch {
            throw OperatorFile.Unusable("\(path): \(error)")
        }
    }

    /// The address to listen on, if what is said there can't be read by others.
    func address(of setting: Configuration.Text) throws -> (host: String, port: Int) {
        let text = configuration[setting]
        guard let (host, port) = Endpoint.split(try address(text, setting)) else {
            throw StartProblem(setting, "'\(text)' is no address")
        }
        let isSafe = TLSTrust.isLoopback(host) || !configuration[\.tls.certificate].isEmpty
        guard try isSafe || configuration[\.tls.insecure] else {
            throw StartProblem(
                setting,
                """
                \(host) can be reached from other machines; name a certificate \
                (--tls-certificate; 'cumulus cluster certificate' makes them), listen on \
                127.0.0.1, or say --insecure
                """
            )
        }
        return (host, port)
    }

    /// Finds out whether the address is free, before anything is made on the disk.
    func probeHTTP(_ address: (host: String, port: Int)?, _ loops: EventLoops) async throws {
        guard let address else { return }
        let listener = NIOFrameListener(host: address.host, port: address.port, loops: loops)
        do {
            try await listener.probe()
        } catch {
            throw cannotServe(error)
        }
    }

    /// Serves HTTP until the task that it returns is cancelled; none without an address.
    func serveHTTP(
        _ node: Node,
        at address: (host: String, port: Int)?,
        _ identity: TLSIdentity?,
        _ audit: AuditFiles?,
        _ loops: EventLoops
    ) async throws -> [Task<Void, Never>] {
        guard let address else { return [] }
        var secure: HTTPServer.Secure?
        if let identity { secure = { identity.web } }
        let apps = try webApps()
        let door = NodeDoor(node) { apps?()[$0] }
        await tellReplaced(apps?() ?? [:], node)
        let site = try site(at: address)
        let gateway = WebGateway(
            door,
            signInURL: site.map(SignInPages.url),
            publicURL: configuration[\.web.url].isEmpty ? nil : site?.text
        )
        let sources = consoleSources(node, gateway.meter, audit, apps)
        let console =
            try configuration[\.web.withoutConsole]
            ? nil : Console(door, sources, isTLS: identity != nil)
        let root = RootPage(hasConsole: console != nil, hasSignIn: site != nil)
        let signIn = site.map { signInPages(door, at: $0, loops) }
        let passwords = site.map { PasswordPages(door, at: $0) }
        let pages: [(any WebPages)?] = [root, console, signIn, passwords]
        let server = HTTPServer(
            gateway,
            OperatorPages(
                node,
                gateway.meter,
                webhooks: webhooks?.meter,
                pushes: pushes?.meter,
                libraries: libraries,
                access: try metricsAccess()
            ),
            pages.compactMap(\.self),
            hosts: try hosts(site, address.host),
            proxies: try proxies(),
            secure: secure,
            logger: logger
        )
        let (ports, source) = AsyncStream<Result<Int, any Error>>.makeStream()
        let (host, port) = address
        let task = Task { [logger] in
            do {
                try await server.run(host: host, port: port, on: loops.group) {
                    source.yield(.success($0))
                }
            } catch {
                source.yield(.failure(error))
                logger.error("HTTP is not served any more", metadata: ["why": "\(error)"])
            }
            source.finish()
        }
        for await result in ports {
            switch result {
            case .success(let port):
                node.announce(console: site?.text ?? unnamedSite(host, port))
                Wiring.say("cumulusd serves HTTP on \(host):\(port)")
                return [task]
            case .failure(let error): throw cannotServe(error)
            }
        }
        return [task]
    }

    /// The URL of a listener whose site is not known; without a host if it has all of them.
    private func unnamedSite(_ host: String, _ port: Int) -> String {
        let scheme = configuration[\.tls.certificate].isEmpty ? "http" : "https"
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(scheme)://\(Endpoint.isWildcard(host) ? "" : name):\(port)"
    }

    private func signInPages(
        _ door: NodeDoor,
        at site: WebAddress,
        _ loops: EventLoops
    ) -> SignInPages {
        let issuers = issuers
        return SignInPages(
            door,
            at: site,
            providers: { issuers?.providers ?? [] },
            client: OutboundWebClient(on: loops.group),
            logger: logger
        )
    }

    private func cannotServe(_ error: any Error) -> StartProblem {
        StartProblem(
            """
            can't serve HTTP on \(configuration[\.web.address]): \(error); choose another \
            address with --http, or end what listens there
            """
        )
    }
}
