// An authority of a cluster's own: signs the certificates of its nodes. Keys are P-256.
//
// It is kept as two files in a directory, which are made if they are missing. Its certificate can
// sign nodes' certificates and no further authorities; it is valid for ten years.

import Crypto
import CumulusSystem
import CumulusTerminal
import SwiftASN1
import X509

struct PrivateAuthority {
    let file: String
    private let directory: String
    private let certificate: Certificate
    private let key: Certificate.PrivateKey
    private static let years = 10

    /// Reads the authority of a directory, or makes one.
    init(_ directory: String) throws {
        self.directory = directory
        file = directory + "/authority.pem"
        let keyFile = directory + "/authority.key"
        let manager = FileManager.default
        let isThere = manager.fileExists(atPath: file)
        guard isThere == manager.fileExists(atPath: keyFile) else {
            let missing = isThere ? "authority.key" : "authority.pem"
            throw PrivateAuthority.unfit("\(directory) holds an authority without \(missing)")
        }
        if isThere {
            do {
                certificate = try Certificate(
                    pemEncoded: String(contentsOfFile: file, encoding: .utf8)
                )
                let text = try String(contentsOfFile: keyFile, encoding: .utf8)
                key = try Certificate.PrivateKey(pemEncoded: text)
            } catch {
                throw InputProblem("the authority in \(directory) can't be read: \(error)")
            }
            guard key.publicKey == certificate.publicKey else {
                throw PrivateAuthority.unfit("\(keyFile) is not the key of \(file)")
            }
        } else {
            let fresh = P256.Signing.PrivateKey()
            (certificate, key) = (try PrivateAuthority.make(fresh, Date()), .init(fresh))
            KeyFile.makeFolder(directory)
            try KeyFile.write(fresh.pemRepresentation, to: keyFile, isSecret: true)
            try KeyFile.write(certificate.serializeAsPEM().pemString, to: file)
        }
    }

    /// Clients would not trust certificates that it signed.
    private static func unfit(_ what: String) -> InputProblem {
        InputProblem("\(what): bring the right file back, or begin anew in another --directory")
    }

    /// Files that were written.
    struct Issued {
        var certificate: String
        var key: String
        var until: Date
    }

    /// Makes a new certificate for a node, replacing the old one.
    ///
    /// The file holds the authority's certificate too.
    func issue(_ names: [String], days: Int, now: Date) throws -> Issued {
        guard certificate.notValidAfter > now else {
            throw InputProblem(
                "the authority in \(directory) has expired; make a new one in another "
                    + "--directory, and give its certificate to all nodes and clients"
            )
        }
        let fresh = P256.Signing.PrivateKey()
        let until = min(
            now.addingTimeInterval(Double(days) * 86_400),
            certificate.notValidAfter
        )
        let issued = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(fresh.publicKey),
            // The clocks of two machines differ.
            notValidBefore: now.addingTimeInterval(-3_600),
            notValidAfter: until,
            issuer: certificate.subject,
            subject: try DistinguishedName { CommonName(names[0]) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(names.map(PrivateAuthority.alternative))
            },
            issuerPrivateKey: key
        )
        let base = "\(directory)/\(names[0].replacing(":", with: "_"))"
        let chain = [issued, certificate].map { try? $0.serializeAsPEM().pemString }
        try KeyFile.write(fresh.pemRepresentation, to: base + ".key", isSecret: true)
        try KeyFile.write(
            chain.compactMap { $0 }.joined(separator: "\n"),
            to: base + ".pem"
        )
        return Issued(certificate: base + ".pem", key: base + ".key", until: until)
    }

    private static func make(_ key: P256.Signing.PrivateKey, _ now: Date) throws -> Certificate {
        let name = try DistinguishedName { CommonName("Cumulus private authority") }
        return try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: now.addingTimeInterval(-3_600),
            notValidAfter: now.addingTimeInterval(Double(years) * 365 * 86_400),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
    }

    // MARK: Names

    /// Whether a certificate can be for it: an address, or a host name.
    static func isName(_ name: String) -> Bool {
        if address(name) != nil { return true }
        let letters = { (character: Character) in
            character.isASCII && (character.isLetter || character.isNumber || character == "-")
        }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        return name.utf8.count <= 253
            && labels.allSatisfy { (1...63).contains($0.count) && $0.allSatisfy(letters) }
    }

    private static func alternative(_ name: String) -> GeneralName {
        guard let address = address(name) else { return .dnsName(name) }
        return .ipAddress(ASN1OctetString(contentBytes: address[...]))
    }

    /// The bytes of an IPv4 or IPv6 address.
    private static func address(_ text: String) -> [UInt8]? {
        for (family, size) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: size)
            if inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
