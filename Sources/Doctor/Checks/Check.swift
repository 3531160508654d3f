/// A check of `doctor`: what it looks at, and what follows from that. Judging is apart from looking, so that tests reach every
/// level without a broken machine.
protocol Check: Sendable {
    var findings: [DoctorReport.Finding] { get }
}
