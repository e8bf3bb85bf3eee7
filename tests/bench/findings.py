"""Every finding on public packages, each judged by hand, and what a change of the checker does to them.

    python tests/bench/findings.py list                                  what to clone and to install
    python tests/bench/findings.py run --sources DIR --python PYTHON     check all of it, compare, print a table
    python tests/bench/findings.py run --sources DIR --reports OUT ott   one package; its JSON report is kept in OUT
    python tests/bench/findings.py compare --sources DIR --reports OUT   compare kept reports again, without a run
    python tests/bench/findings.py compare ... --update                  write what is new into the data file

`DIR` holds a checkout per package, named as `list` names it (`--download` gets those that PyPI has). The packages'
own dependencies must be there: in one environment for all (`--python`), or in one for each (`--environments E`, which
takes `E/NAME/bin/python` where that exists).

The data file, findings.tsv beside this script, has a row for each finding that was ever reported (errors and warnings;
notes are none). Read the source, then write a verdict and a reason into the new rows:

    true        the claim is literally false of the value that it speaks of, in every sensible reading; or JAX would
                raise for real users as well
    debatable   a reader could call it either way
    false       some sensible reading holds, or the text is no claim, or only what we made up fails
    unjudged    nobody has read it yet

Printed are findings that nobody has judged, false ones that came back after they were gone, and true ones that are
lost. The exit status is 1 if there are any of the last two, and 2 if a package gave no report.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from shapecheck.verdicts.baseline import digest

DATA = Path(__file__).with_name("findings.tsv")
VERDICTS = ("true", "debatable", "false", "unjudged")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A public package: where it comes from, and what of it is checked, from which folder.

    `origin` is a commit of the repository, or a version where the checkout is what PyPI has.
    """

    name: str
    repository: str
    origin: str
    checked: str
    run_in: str = ""
    """The folder below the sources; by default the checkout."""

    @property
    def on_pypi(self) -> bool:
        """Whether `origin` is a version."""
        return "." in self.origin


PACKAGES = (
    Package(
        name="alphafold",
        repository="https://github.com/google-deepmind/alphafold",
        origin="c77e5d2a89",
        checked="alphafold",
    ),
    Package(
        name="dinosaur",
        repository="https://github.com/neuralgcm/dinosaur",
        origin="31d5527c39",
        checked="dinosaur",
    ),
    Package(name="e3nn-jax", repository="https://github.com/e3nn/e3nn-jax", origin="04e761c8e9", checked="e3nn_jax"),
    Package(
        name="ferminet",
        repository="https://github.com/google-deepmind/ferminet",
        origin="0ce3411104",
        checked="ferminet",
    ),
    Package(
        name="flaxformer",
        repository="https://github.com/google/flaxformer",
        origin="399ea3a85e",
        checked="flaxformer",
    ),
    Package(
        name="functa",  # its modules import each other as `functa.x`, so it is checked from the folder above
        repository="https://github.com/google-deepmind/functa",
        origin="667f3a0c4a",
        checked="functa",
        run_in=".",
    ),
    Package(name="jax-md", repository="https://github.com/jax-md/jax-md", origin="0.2.29", checked="jax_md"),
    Package(
        name="jax-moseq",
        repository="https://github.com/dattalab/jax-moseq",
        origin="83bdbd5ed9",
        checked="jax_moseq",
    ),
    Package(name="jaxley", repository="https://github.com/jaxleyverse/jaxley", origin="2638cca266", checked="jaxley"),
    Package(
        name="jumanji",
        repository="https://github.com/instadeepai/jumanji",
        origin="590005b0fb",
        checked="jumanji",
    ),
    Package(
        name="mctx",
        repository="https://github.com/google-deepmind/mctx",
        origin="b53073fd50",
        checked="mctx",
    ),
    Package(name="nanodl", repository="https://github.com/HMUNACHI/nanodl", origin="5f729f30e3", checked="nanodl"),
    Package(
        name="nucleotide-transformer",
        repository="https://github.com/instadeepai/nucleotide-transformer",
        origin="2dc37b86e1",
        checked="nucleotide_transformer",
    ),
    Package(name="numpyro", repository="https://github.com/pyro-ppl/numpyro", origin="0b935d4880", checked="numpyro"),
    Package(name="ott", repository="https://github.com/ott-jax/ott", origin="6aace50f67", checked="src/ott"),
    Package(name="rebayes", repository="https://github.com/probml/rebayes", origin="3b88072454", checked="rebayes"),
    Package(
        name="simply", repository="https://github.com/google-deepmind/simply", origin="e14c06121f", checked="simply"
    ),
    Package(
        name="slot-attention-video",
        repository="https://github.com/google-research/slot-attention-video",
        origin="ba8f15ee19",
        checked="savi",
    ),
    Package(
        name="swirl-dynamics",
        repository="https://github.com/google-research/swirl-dynamics",
        origin="7eeea7a534",
        checked="swirl_dynamics",
    ),
    Package(
        name="vmoe",
        repository="https://github.com/google-research/vmoe",
        origin="942a78bc81",
        checked="vmoe",
    ),
    Package(
        name="ColabDesign",
        repository="https://github.com/sokrypton/ColabDesign",
        origin="e31a56fe1d",
        checked="colabdesign",
    ),
    Package(name="JaxMARL", repository="https://github.com/FLAIROx/JaxMARL", origin="c793d09561", checked="."),
    Package(
        name="alphagenome_research",
        repository="https://github.com/google-deepmind/alphagenome_research",
        origin="3f79219086",
        checked="src",
    ),
    Package(
        name="annealed_flow_transport",
        repository="https://github.com/google-deepmind/annealed_flow_transport",
        origin="09688408ba",
        checked="annealed_flow_transport",
    ),
    Package(name="cax", repository="https://github.com/maxencefaldor/cax", origin="474b785fa1", checked="src"),
    Package(name="clrs", repository="https://github.com/google-deepmind/clrs", origin="bfd042f049", checked="clrs"),
    Package(
        name="deepqmc", repository="https://github.com/deepqmc/deepqmc", origin="edf373e7c2", checked="src/deepqmc"
    ),
    Package(
        name="disentangled_rnns",
        repository="https://github.com/google-deepmind/disentangled_rnns",
        origin="a35cc88cb2",
        checked="disentangled_rnns",
    ),
    Package(name="distreqx", repository="https://github.com/lockwo/distreqx", origin="544d83f128", checked="distreqx"),
    Package(name="dynamax", repository="https://github.com/probml/dynamax", origin="cfb005fa18", checked="dynamax"),
    Package(name="exponax", repository="https://github.com/Ceyron/exponax", origin="1b25e9438e", checked="exponax"),
    Package(name="jaxns", repository="https://github.com/Joshuaalbert/jaxns", origin="2f356d6d49", checked="src/jaxns"),
    Package(
        name="kauldron",
        repository="https://github.com/google-research/kauldron",
        origin="c9b3ec8631",
        checked="kauldron",
    ),
    Package(
        name="maxtext", repository="https://github.com/AI-Hypercomputer/maxtext", origin="e591f30cbb", checked="src"
    ),
    Package(name="meliad", repository="https://github.com/google-research/meliad", origin="cc1aef50bd", checked="."),
    Package(name="mlff", repository="https://github.com/thorben-frank/mlff", origin="02107c2b62", checked="mlff"),
    Package(name="netket", repository="https://github.com/netket/netket", origin="3b9e1c2865", checked="netket"),
    Package(name="pyroki", repository="https://github.com/chungmin99/pyroki", origin="70b30a56b1", checked="src"),
    Package(
        name="QDax",
        repository="https://github.com/adaptive-intelligent-robotics/QDax",
        origin="46b8feecae",
        checked="qdax",
    ),
    Package(
        name="randomized_positional_encodings",
        repository="https://github.com/google-deepmind/randomized_positional_encodings",
        origin="e8c64749d8",
        checked=".",
    ),
    Package(name="signax", repository="https://github.com/anh-tong/signax", origin="0d991e6ca3", checked="src"),
    Package(
        name="transformer_grammars",
        repository="https://github.com/google-deepmind/transformer_grammars",
        origin="0f546f0251",
        checked="transformer_grammars",
    ),
    Package(name="trax", repository="https://github.com/google/trax", origin="7c189c2c3a", checked="trax"),
    Package(name="vizier", repository="https://github.com/google/vizier", origin="b0651861f2", checked="vizier"),
    Package(name="nerfies", repository="https://github.com/google/nerfies", origin="1a38512214", checked="nerfies"),
    Package(name="trajax", repository="https://github.com/google/trajax", origin="c94a637c5a", checked="trajax"),
    Package(
        name="chromatix", repository="https://github.com/chromatix-team/chromatix", origin="51c10db711", checked="src"
    ),
    Package(name="spyx", repository="https://github.com/kmheckel/spyx", origin="38374e9696", checked="src"),
    Package(name="perch", repository="https://github.com/google-research/perch", origin="b216270c02", checked="chirp"),
    Package(
        name="prompt-tuning",
        repository="https://github.com/google-research/prompt-tuning",
        origin="72285eea06",
        checked="prompt_tuning",
    ),
    Package(name="score_sde", repository="https://github.com/yang-song/score_sde", origin="0acb9e0ea3", checked="."),
    Package(
        name="emergent_in_context_learning",
        repository="https://github.com/google-deepmind/emergent_in_context_learning",
        origin="eba75a4208",
        checked=".",
    ),
    Package(name="jejeqx", repository="https://github.com/jejjohnson/jejeqx", origin="48489d643b", checked="jejeqx"),
    Package(name="FoldJAX", repository="https://github.com/eightmm/FoldJAX", origin="12b8d57ba1", checked="src"),
    Package(
        name="jax_cosmo",
        repository="https://github.com/DifferentiableUniverseInitiative/jax_cosmo",
        origin="c4f249f371",
        checked="jax_cosmo",
    ),
    Package(
        name="lineax", repository="https://github.com/patrick-kidger/lineax", origin="2f0e083d9f", checked="lineax"
    ),
    Package(name="mbirjax", repository="https://github.com/cabouman/mbirjax", origin="851a1ca25b", checked="mbirjax"),
    Package(
        name="m3ae_public", repository="https://github.com/young-geng/m3ae_public", origin="a5eb14f851", checked="."
    ),
    Package(name="qpax", repository="https://github.com/kevin-tracy/qpax", origin="53df513a79", checked="qpax"),
    Package(
        name="gcbfplus", repository="https://github.com/MIT-REALM/gcbfplus", origin="5e7d5cd8c3", checked="gcbfplus"
    ),
    Package(name="memorax", repository="https://github.com/smorad/memorax", origin="b61f15f339", checked="memax"),
    Package(name="GradDFT", repository="https://github.com/XanaduAI/GradDFT", origin="941afc28a6", checked="grad_dft"),
    Package(name="mosaic", repository="https://github.com/escalante-bio/mosaic", origin="53992575ff", checked="src"),
    Package(name="d4ft", repository="https://github.com/sail-sg/d4ft", origin="e0b846d99a", checked="d4ft"),
    Package(name="elk", repository="https://github.com/lindermanlab/elk", origin="58782bd07a", checked="elk"),
    Package(name="globe", repository="https://github.com/n-gao/globe", origin="942feba753", checked="globe"),
    Package(
        name="videoprism",
        repository="https://github.com/google-deepmind/videoprism",
        origin="d481d91b9b",
        checked="videoprism",
    ),
    Package(name="md4", repository="https://github.com/google-deepmind/md4", origin="b9fbf29216", checked="md4"),
    Package(name="CellFlow", repository="https://github.com/theislab/CellFlow", origin="446ed6073c", checked="src"),
    Package(
        name="memory-monoids",
        repository="https://github.com/proroklab/memory-monoids",
        origin="fbdda1f8fa",
        checked=".",
    ),
    Package(
        name="jaxpruner",
        repository="https://github.com/google-research/jaxpruner",
        origin="f133ee50f3",
        checked="jaxpruner",
    ),
    Package(name="simformer", repository="https://github.com/mackelab/simformer", origin="a35055613a", checked="src"),
    Package(name="DAC-JAX", repository="https://github.com/DBraun/DAC-JAX", origin="919ce4a2a9", checked="src"),
    Package(
        name="cvit", repository="https://github.com/PredictiveIntelligenceLab/cvit", origin="7dbb1e3772", checked="src"
    ),
    Package(
        name="camp_zipnerf",
        repository="https://github.com/jonbarron/camp_zipnerf",
        origin="8e6d57e3ae",
        checked="camp_zipnerf",
    ),
    Package(
        name="disco_rl",
        repository="https://github.com/google-deepmind/disco_rl",
        origin="9059a29f71",
        checked="disco_rl",
    ),
    Package(
        name="BayesNewton",
        repository="https://github.com/AaltoML/BayesNewton",
        origin="f72ae9a6ca",
        checked="bayesnewton",
    ),
    Package(name="Kinetix", repository="https://github.com/FLAIROx/Kinetix", origin="fac7449755", checked="kinetix"),
    Package(
        name="PriorCVAE_JAX",
        repository="https://github.com/elizavetasemenova/PriorCVAE_JAX",
        origin="2db074ea6e",
        checked="priorCVAE",
    ),
    Package(name="ReAct_Jax", repository="https://github.com/neel04/ReAct_Jax", origin="831619afd6", checked="ReAct"),
    Package(name="Stoix", repository="https://github.com/EdanToledo/Stoix", origin="8fff19c94a", checked="stoix"),
    Package(
        name="Titans_jax", repository="https://github.com/andrew-veriga/Titans_jax", origin="1680b817a7", checked="."
    ),
    Package(name="bonsai", repository="https://github.com/jax-ml/bonsai", origin="36284254cf", checked="bonsai"),
    Package(name="deqn-jax", repository="https://github.com/deqn-jax/deqn-jax", origin="52cba20d91", checked="src"),
    Package(name="evojax", repository="https://github.com/google/evojax", origin="acf5252475", checked="evojax"),
    Package(
        name="f1tenth_gym_jax",
        repository="https://github.com/f1tenth/f1tenth_gym_jax",
        origin="1b4eb3f516",
        checked="f1tenth_gym_jax",
    ),
    Package(name="fab-jax", repository="https://github.com/lollcat/fab-jax", origin="c9f991366c", checked="fabjax"),
    Package(
        name="flaxchat", repository="https://github.com/mlnomadpy/flaxchat", origin="9653ab459f", checked="flaxchat"
    ),
    Package(
        name="flows_for_atomic_solids",
        repository="https://github.com/google-deepmind/flows_for_atomic_solids",
        origin="293aecf879",
        checked=".",
    ),
    Package(name="fortuna", repository="https://github.com/awslabs/fortuna", origin="19c7d9c128", checked="fortuna"),
    Package(
        name="high_performance_jax",
        repository="https://github.com/novastar53/high_performance_jax",
        origin="a9f0a3c923",
        checked="src",
    ),
    Package(
        name="infodynamics-jax",
        repository="https://github.com/cjrogerlo/infodynamics-jax",
        origin="048d7ceabb",
        checked="infodynamics_jax",
    ),
    Package(name="jax-aht", repository="https://github.com/LARG/jax-aht", origin="8c93ac4378", checked="agents"),
    Package(
        name="jax-baseline",
        repository="https://github.com/tinker495/jax-baseline",
        origin="8ef31ce109",
        checked="jax_baselines",
    ),
    Package(
        name="jax-diffusion-transformer",
        repository="https://github.com/kvfrans/jax-diffusion-transformer",
        origin="94ea6076bd",
        checked=".",
    ),
    Package(
        name="jax-fem", repository="https://github.com/deepmodeling/jax-fem", origin="912632b599", checked="jax_fem"
    ),
    Package(
        name="jax-noprop",
        repository="https://github.com/bayesianempirimancer/jax-noprop",
        origin="a2bc2aed49",
        checked="src",
    ),
    Package(
        name="jax_llava", repository="https://github.com/qiaosungithub/jax_llava", origin="39b30fbc9a", checked="models"
    ),
    Package(
        name="jax_rtrl", repository="https://github.com/FranzKnut/jax_rtrl", origin="7d95ca607d", checked="jax_rtrl"
    ),
    Package(
        name="jax_verify",
        repository="https://github.com/google-deepmind/jax_verify",
        origin="fe8ea3c8da",
        checked="jax_verify",
    ),
    Package(name="jaxls", repository="https://github.com/brentyi/jaxls", origin="50a58be88c", checked="src"),
    Package(name="llama-jax", repository="https://github.com/stickshift/llama-jax", origin="17f2491f65", checked="src"),
    Package(name="lmpo", repository="https://github.com/kvfrans/lmpo", origin="bdffa7b356", checked="."),
    Package(name="mace-jax", repository="https://github.com/ACEsuit/mace-jax", origin="9fe59d9d0f", checked="mace_jax"),
    Package(
        name="macrogpt-jax",
        repository="https://github.com/Ueaj-Kerman/macrogpt-jax",
        origin="f7da7ef440",
        checked="ueaj",
    ),
    Package(
        name="mesh-transformer-jax",
        repository="https://github.com/kingoflolz/mesh-transformer-jax",
        origin="f8315e3003",
        checked="mesh_transformer",
    ),
    Package(
        name="msa-transformer-jax",
        repository="https://github.com/amyxlu/msa-transformer-jax",
        origin="3d8f2454e0",
        checked=".",
    ),
    Package(
        name="multinerf",
        repository="https://github.com/google-research/multinerf",
        origin="5b4d4f6460",
        checked="internal",
    ),
    Package(
        name="nano-vllm-jax",
        repository="https://github.com/LiquidGunay/nano-vllm-jax",
        origin="a43ef9f9ac",
        checked="nanovllm_jax",
    ),
    Package(
        name="nested-transformer",
        repository="https://github.com/google-research/nested-transformer",
        origin="59c0d6aa1a",
        checked=".",
    ),
    Package(
        name="neural_networks_chomsky_hierarchy",
        repository="https://github.com/google-deepmind/neural_networks_chomsky_hierarchy",
        origin="2b8eb4bee8",
        checked=".",
    ),
    Package(name="octo", repository="https://github.com/octo-models/octo", origin="241fb3514b", checked="octo"),
    Package(name="ramsey", repository="https://github.com/ramsey-devs/ramsey", origin="a582d042b4", checked="ramsey"),
    Package(
        name="ringattention",
        repository="https://github.com/haoliuhl/ringattention",
        origin="6305e2fb15",
        checked="ringattention",
    ),
    Package(
        name="shortcut-models",
        repository="https://github.com/kvfrans/shortcut-models",
        origin="6010043486",
        checked=".",
    ),
    Package(name="softjax", repository="https://github.com/a-paulus/softjax", origin="82fa3c908b", checked="src"),
    Package(name="ssm-jax", repository="https://github.com/lindermanlab/ssm-jax", origin="3ee7580d09", checked="ssm"),
    Package(
        name="symphony",
        repository="https://github.com/atomicarchitects/symphony",
        origin="590621f27f",
        checked="symphony",
    ),
    Package(name="twpa-jax", repository="https://github.com/oss-esso/twpa-jax", origin="fe319052bd", checked="src"),
    Package(
        name="varibad_jax",
        repository="https://github.com/aliang8/varibad_jax",
        origin="e36a2a7171",
        checked="varibad_jax",
    ),
    Package(
        name="world-models-jax",
        repository="https://github.com/Sha01in/world-models-jax",
        origin="445392478f",
        checked="src",
    ),
    Package(
        name="xlstm-jax", repository="https://github.com/NX-AI/xlstm-jax", origin="0f3ebc2d73", checked="xlstm_jax"
    ),
    Package(name="JAX-CORL", repository="https://github.com/nissymori/JAX-CORL", origin="d747dd8ad4", checked="algos"),
    Package(name="gemma", repository="https://github.com/google-deepmind/gemma", origin="7691fd4e7f", checked="gemma"),
    Package(
        name="linsdex", repository="https://github.com/EddieCunningham/linsdex", origin="cb8cf0a0c9", checked="linsdex"
    ),
    Package(name="PGMax", repository="https://github.com/google-deepmind/PGMax", origin="741d532bb4", checked="pgmax"),
    Package(
        name="big_vision",
        repository="https://github.com/google-research/big_vision",
        origin="0127fb6b33",
        checked="big_vision/models",
    ),
    Package(name="diffuse_nnx", repository="https://github.com/willisma/diffuse_nnx", origin="023afd23c7", checked="."),
    Package(name="fae", repository="https://github.com/neverix/fae", origin="457136fb97", checked="src"),
    Package(name="tx", repository="https://github.com/alexjackson1/tx", origin="29882efa0f", checked="tx"),
    Package(
        name="flumen-jax", repository="https://github.com/Marijn-dev/flumen-jax", origin="1e8f537644", checked="src"
    ),
    Package(name="goal-jax", repository="https://github.com/alex404/goal-jax", origin="4b957a6468", checked="src"),
    Package(name="jax-gpt", repository="https://github.com/ultrons/jax-gpt", origin="67412732fd", checked="jax_gpt"),
    Package(name="brax", repository="https://github.com/google/brax", origin="0b96d05632", checked="brax"),
    Package(
        name="ithaca", repository="https://github.com/google-deepmind/ithaca", origin="ced13193aa", checked="ithaca"
    ),
    Package(name="enn", repository="https://github.com/google-deepmind/enn", origin="da8ec7612d", checked="enn"),
    Package(name="LapNet", repository="https://github.com/bytedance/LapNet", origin="65101311fd", checked="lapnet"),
    Package(name="jaqmc", repository="https://github.com/bytedance/jaqmc", origin="07e01a7d17", checked="src"),
    Package(
        name="tapnet", repository="https://github.com/google-deepmind/tapnet", origin="c2cbab81cc", checked="tapnet"
    ),
    Package(
        name="sglang-jax",
        repository="https://github.com/sgl-project/sglang-jax",
        origin="cddbf6f1cc",
        checked="python/sgl_jax/srt/layers",
    ),
    Package(
        name="maxdiffusion",
        repository="https://github.com/AI-Hypercomputer/maxdiffusion",
        origin="7cfb8801d4",
        checked="src/maxdiffusion/models",
    ),
    Package(name="pcgrl-jax", repository="https://github.com/smearle/pcgrl-jax", origin="466e9ef253", checked="."),
    Package(name="exojax", repository="https://github.com/HajimeKawahara/exojax", origin="ef541efd83", checked="src"),
    Package(name="praxis", repository="https://github.com/google/praxis", origin="feeaff1991", checked="praxis/layers"),
    Package(name="rheojax", repository="https://github.com/imewei/rheojax", origin="b79e79e732", checked="rheojax"),
    Package(name="tunix", repository="https://github.com/google/tunix", origin="c7d8950f12", checked="tunix/models"),
    Package(
        name="hypernerf", repository="https://github.com/google/hypernerf", origin="d433ebeba4", checked="hypernerf"
    ),
    Package(name="bijx", repository="https://github.com/mathisgerdes/bijx", origin="99bab7505f", checked="src/bijx"),
    Package(name="serket", repository="https://github.com/ASEM000/serket", origin="f5c9ddc31c", checked="serket"),
    Package(
        name="pdequinox", repository="https://github.com/Ceyron/pdequinox", origin="4cc1f53a95", checked="pdequinox"
    ),
    Package(
        name="jaxoplanet",
        repository="https://github.com/exoplanet-dev/jaxoplanet",
        origin="6972b779fd",
        checked="src/jaxoplanet",
    ),
    Package(
        name="HighPerfLLMs2024",
        repository="https://github.com/rwitten/HighPerfLLMs2024",
        origin="183ee74a6c",
        checked=".",
    ),
    Package(name="apax", repository="https://github.com/apax-hub/apax", origin="c9dfdbc6df", checked="apax"),
    Package(name="tinygp", repository="https://github.com/dfm/tinygp", origin="5302d5a1ae", checked="src/tinygp"),
    Package(name="jax-sph", repository="https://github.com/tumaer/jax-sph", origin="808f87489e", checked="jax_sph"),
    Package(
        name="nemos", repository="https://github.com/flatironinstitute/nemos", origin="c80170b058", checked="src/nemos"
    ),
    Package(
        name="scenic",
        repository="https://github.com/google-research/scenic",
        origin="4a38d475ee",
        checked="scenic/model_lib",
    ),
    Package(
        name="neural-tangents",
        repository="https://github.com/google/neural-tangents",
        origin="c17e770bb7",
        checked="neural_tangents",
    ),
    Package(name="deer", repository="https://github.com/machine-discovery/deer", origin="409140ff98", checked="deer"),
    Package(name="jax-cfd", repository="https://github.com/google/jax-cfd", origin="a1b5b51e98", checked="jax_cfd"),
    Package(
        name="denoising-diffusion-flax",
        repository="https://github.com/yiyixuxu/denoising-diffusion-flax",
        origin="d09e271",
        checked=".",
    ),
    Package(
        name="tensorf-jax",
        repository="https://github.com/brentyi/tensorf-jax",
        origin="cbfa324",
        checked=".",
    ),
    Package(
        name="fedjax",
        repository="https://github.com/google/fedjax",
        origin="c57ee19",
        checked=".",
    ),
    Package(
        name="jax-vqvae-vqgan",
        repository="https://github.com/kvfrans/jax-vqvae-vqgan",
        origin="5d50e77",
        checked=".",
    ),
    Package(
        name="waymax", repository="https://github.com/waymo-research/waymax", origin="48b33d71aa", checked="waymax"
    ),
    Package(name="dibs", repository="https://github.com/larslorch/dibs", origin="5350d1ae9b", checked="dibs"),
    Package(name="fmmax", repository="https://github.com/invrs-io/fmmax", origin="55f6f41a81", checked="src"),
    Package(name="fdtdx", repository="https://github.com/ymahlau/fdtdx", origin="f26f84b70a", checked="src"),
    Package(
        name="crazyflow", repository="https://github.com/utiasDSL/crazyflow", origin="9bf4f2ca3d", checked="crazyflow"
    ),
    Package(name="pymdp", repository="https://github.com/infer-actively/pymdp", origin="f2f6441159", checked="pymdp"),
    Package(name="salad", repository="https://github.com/mjendrusch/salad", origin="bd2784e5f3", checked="salad"),
    Package(name="gfnx", repository="https://github.com/d-tiapkin/gfnx", origin="068316d394", checked="src"),
    Package(name="navix", repository="https://github.com/epignatelli/navix", origin="03b056a791", checked="navix"),
    Package(name="FBPINNs", repository="https://github.com/benmoseley/FBPINNs", origin="ff309504a6", checked="fbpinns"),
    Package(name="mlip", repository="https://github.com/instadeepai/mlip", origin="e2f1e7361f", checked="src"),
    Package(name="JaxDEM", repository="https://github.com/cdelv/JaxDEM", origin="5d9c13ad1a", checked="jaxdem"),
    Package(
        name="JAXTrace", repository="https://github.com/ARHashemi/JAXTrace", origin="3bbf532b7a", checked="jaxtrace"
    ),
    Package(
        name="JAX-DIPS", repository="https://github.com/JAX-DIPS/JAX-DIPS", origin="b9c8a95ee6", checked="jax_dips"
    ),
    Package(
        name="esm-jax", repository="https://github.com/alexanderbonnet/esm-jax", origin="eecf787ea7", checked="esmjax"
    ),
    Package(
        name="diffsky", repository="https://github.com/ArgonneCPAC/diffsky", origin="15c7162edb", checked="diffsky"
    ),
    Package(
        name="slsqp-jax", repository="https://github.com/lucianopaz/slsqp-jax", origin="da2978d39e", checked="slsqp_jax"
    ),
    Package(
        name="JAX-in-Cell",
        repository="https://github.com/uwplasma/JAX-in-Cell",
        origin="3d43dcc1ba",
        checked="jaxincell",
    ),
    Package(name="jax-frc", repository="https://github.com/zizai/jax-frc", origin="27f8e299cc", checked="jax_frc"),
    Package(name="meanflow", repository="https://github.com/Gsunshine/meanflow", origin="d70cb55d29", checked="."),
    Package(
        name="flaxmodels", repository="https://github.com/matthias-wright/flaxmodels", origin="09bc772150", checked="."
    ),
    Package(name="enf-jax", repository="https://github.com/Dafidofff/enf-jax", origin="1e6efaa5e0", checked="."),
    Package(name="enf-pde", repository="https://github.com/david-knigge/enf-pde", origin="d4e511f70e", checked="."),
    Package(name="RecML", repository="https://github.com/AI-Hypercomputer/RecML", origin="c1d33cb79c", checked="."),
    Package(name="init2winit", repository="https://github.com/google/init2winit", origin="afd5a84dbb", checked="."),
    Package(name="dgppo", repository="https://github.com/MIT-REALM/dgppo", origin="51b3b11c42", checked="."),
    Package(
        name="clifford-group-equivariant-cnns",
        repository="https://github.com/maxxxzdn/clifford-group-equivariant-cnns",
        origin="d87f739d9e",
        checked=".",
    ),
    Package(
        name="connectomics",
        repository="https://github.com/google-research/connectomics",
        origin="76ef81698c",
        checked=".",
    ),
    Package(name="bong", repository="https://github.com/petergchang/bong", origin="437fe5a265", checked="."),
    Package(
        name="neural_diffusion_processes",
        repository="https://github.com/cambridge-mlg/neural_diffusion_processes",
        origin="3685979f4b",
        checked=".",
    ),
    Package(
        name="riemannian-score-sde",
        repository="https://github.com/oxcsml/riemannian-score-sde",
        origin="b35b739464",
        checked=".",
    ),
    Package(name="axlearn", repository="https://github.com/apple/axlearn", origin="34aed43c1b", checked="."),
    Package(name="edward2", repository="https://github.com/google/edward2", origin="ee025600cb", checked="."),
    Package(
        name="Jax-Wavelet-Toolbox",
        repository="https://github.com/v0lta/Jax-Wavelet-Toolbox",
        origin="25bcea431c",
        checked=".",
    ),
    Package(name="Equimo", repository="https://github.com/clementpoiret/Equimo", origin="706457248d", checked="src"),
    Package(
        name="distrax", repository="https://github.com/google-deepmind/distrax", origin="f51bffcf90", checked="distrax"
    ),
    Package(name="tracr", repository="https://github.com/google-deepmind/tracr", origin="9ce2b8c82b", checked="tracr"),
    Package(name="grok-1", repository="https://github.com/xai-org/grok-1", origin="7050ed204b", checked="."),
    Package(
        name="mamba-minimal-jax",
        repository="https://github.com/radarFudan/mamba-minimal-jax",
        origin="b76334404f",
        checked=".",
    ),
    Package(
        name="flash-attention-jax",
        repository="https://github.com/lucidrains/flash-attention-jax",
        origin="d73dcdd6cb",
        checked="flash_attention_jax",
    ),
    Package(name="jax-flow", repository="https://github.com/kvfrans/jax-flow", origin="44da21aef8", checked="."),
    Package(name="EasyLM", repository="https://github.com/young-geng/EasyLM", origin="fe5b2c354e", checked="EasyLM"),
    Package(name="mipnerf", repository="https://github.com/google/mipnerf", origin="84c969e0a6", checked="internal"),
    Package(name="inox", repository="https://github.com/francois-rozet/inox", origin="4e04cdb0fd", checked="inox"),
    Package(
        name="flowjax", repository="https://github.com/danielward27/flowjax", origin="cabcb42bcf", checked="flowjax"
    ),
    Package(
        name="nequip-jax",
        repository="https://github.com/mariogeiger/nequip-jax",
        origin="0e7a311537",
        checked="nequip_jax",
    ),
    Package(
        name="llama-2-jax", repository="https://github.com/ayaka14732/llama-2-jax", origin="6bb19056f2", checked="lib"
    ),
    Package(
        name="jestimator",
        repository="https://github.com/google-research/jestimator",
        origin="326824a477",
        checked="jestimator",
    ),
    Package(
        name="probdiffeq",
        repository="https://github.com/pnkraemer/probdiffeq",
        origin="d97d3c3689",
        checked="probdiffeq",
    ),
    Package(
        name="constrained_optidice",
        repository="https://github.com/google-deepmind/constrained_optidice",
        origin="c58783ec5c",
        checked=".",
    ),
    Package(
        name="consistency_models_cifar10",
        repository="https://github.com/openai/consistency_models_cifar10",
        origin="d086e77dfd",
        checked="jcm",
    ),
    Package(name="JAXSeq", repository="https://github.com/Sea-Snell/JAXSeq", origin="aa6d7f33c9", checked="JaxSeq"),
    Package(name="ogbench", repository="https://github.com/seohongpark/ogbench", origin="1d4140997f", checked="impls"),
    Package(name="cryojax", repository="https://github.com/mjo22/cryojax", origin="7a6229fa9c", checked="src/cryojax"),
    Package(
        name="synjax", repository="https://github.com/google-deepmind/synjax", origin="6de574af85", checked="synjax"
    ),
    Package(name="Umol", repository="https://github.com/patrickbryant1/Umol", origin="78ed26c389", checked="src"),
    Package(
        name="dynamiqs", repository="https://github.com/dynamiqs/dynamiqs", origin="c3bf2151ec", checked="dynamiqs"
    ),
    Package(
        name="graphcast",
        repository="https://github.com/google-deepmind/graphcast",
        origin="9c034db1ff",
        checked="weathernext",
    ),
    Package(
        name="MLLM-JAX", repository="https://github.com/demon2036/MLLM-JAX", origin="8b19c02fcd", checked="MLLM_JAX"
    ),
    Package(
        name="openpi",
        repository="https://github.com/Physical-Intelligence/openpi",
        origin="15a9616a00",
        checked="src/openpi",
    ),
    Package(name="jax3d", repository="https://github.com/google-research/jax3d", origin="5e21a547e8", checked="jax3d"),
    Package(name="clm-ml-jax", repository="https://github.com/JeyuChou/clm-ml-jax", origin="1539d7cfeb", checked="src"),
    Package(
        name="magvit", repository="https://github.com/google-research/magvit", origin="05e8cfd655", checked="videogvt"
    ),
    Package(name="asal", repository="https://github.com/SakanaAI/asal", origin="677ba0ea4d", checked="."),
    Package(name="mess", repository="https://github.com/graphcore-research/mess", origin="a2c5c6a9f8", checked="mess"),
    Package(
        name="viperleed-jax",
        repository="https://github.com/viperleed/viperleed-jax",
        origin="8636c7f680",
        checked="src",
    ),
    Package(
        name="cuthbert", repository="https://github.com/state-space-models/cuthbert", origin="89bf19036b", checked="."
    ),
    Package(
        name="eqxvision", repository="https://github.com/paganpasta/eqxvision", origin="7da790c7bf", checked="eqxvision"
    ),
    Package(
        name="tomojax",
        repository="https://github.com/tristanmanchester/tomojax",
        origin="214365a527",
        checked="src/tomojax",
    ),
    Package(name="jaxsim", repository="https://github.com/ami-iit/jaxsim", origin="98939044f7", checked="src/jaxsim"),
    Package(
        name="lagrangebench",
        repository="https://github.com/tumaer/lagrangebench",
        origin="b880a6c84a",
        checked="lagrangebench",
    ),
    Package(name="sbgm", repository="https://github.com/homerjed/sbgm", origin="70727f4304", checked="sbgm"),
    Package(name="pgx", repository="https://github.com/sotetsuk/pgx", origin="079b2d730e", checked="pgx"),
    Package(name="dLux", repository="https://github.com/LouisDesdoigts/dLux", origin="311e9b8911", checked="src/dLux"),
    Package(
        name="recurrentgemma",
        repository="https://github.com/google-deepmind/recurrentgemma",
        origin="2efa84dac0",
        checked="recurrentgemma",
    ),
    Package(
        name="hyperbo", repository="https://github.com/google-research/hyperbo", origin="e720fc1c63", checked="hyperbo"
    ),
    Package(name="jaxued", repository="https://github.com/DramaCow/jaxued", origin="0f8f128467", checked="src"),
    Package(
        name="fea-in-jax", repository="https://github.com/KeithBallard/fea-in-jax", origin="4233b76ac8", checked="src"
    ),
    Package(
        name="hierarchical_perceiver",
        repository="https://github.com/google-deepmind/hierarchical_perceiver",
        origin="a1c4cd2de9",
        checked=".",
    ),
    Package(name="JSL", repository="https://github.com/probml/JSL", origin="649c1fa970", checked="jsl"),
    Package(name="efppo", repository="https://github.com/MIT-REALM/efppo", origin="3105556125", checked="src"),
    Package(name="jf1uids", repository="https://github.com/leo1200/jf1uids", origin="03b5b18d30", checked="jf1uids"),
    Package(name="moozi", repository="https://github.com/uduse/moozi", origin="4fdba11bc9", checked="moozi"),
    Package(name="JAxtar", repository="https://github.com/tinker495/JAxtar", origin="b0f2ba5e39", checked="."),
    Package(
        name="bart-base-jax",
        repository="https://github.com/ayaka14732/bart-base-jax",
        origin="3cc0aa0202",
        checked="lib",
    ),
    Package(name="coax", repository="https://github.com/coax-dev/coax", origin="cf855957b4", checked="coax"),
    Package(
        name="long-range-arena",
        repository="https://github.com/google-research/long-range-arena",
        origin="cd31e5c6b8",
        checked="lra_benchmarks",
    ),
    Package(name="jeo", repository="https://github.com/google-deepmind/jeo", origin="d793969714", checked="jeo"),
    Package(
        name="herculens", repository="https://github.com/Herculens/herculens", origin="7397c06558", checked="herculens"
    ),
    Package(
        name="s2fft", repository="https://github.com/astro-informatics/s2fft", origin="5e6a08222d", checked="s2fft"
    ),
    Package(name="JAX-ENT", repository="https://github.com/alexisiddiqui/JAX-ENT", origin="98b8daeec2", checked="."),
    Package(
        name="learned_optimization",
        repository="https://github.com/google/learned_optimization",
        origin="32186aa46a",
        checked="learned_optimization",
    ),
    Package(name="scico", repository="https://github.com/lanl/scico", origin="b082d7b5ee", checked="scico"),
    Package(name="treex", repository="https://github.com/cgarciae/treex", origin="af0c5a06e4", checked="treex"),
    Package(name="poppy", repository="https://github.com/instadeepai/poppy", origin="c0a95c97d2", checked="."),
    Package(name="jaxlie", repository="https://github.com/brentyi/jaxlie", origin="0b6655fbad", checked="."),
    Package(name="pax", repository="https://github.com/NTT123/pax", origin="253f6fd3ee", checked="."),
    Package(name="haliax", repository="https://github.com/stanford-crfm/haliax", origin="f41e7d40c6", checked="."),
    Package(
        name="equivariant-MLP", repository="https://github.com/mfinzi/equivariant-MLP", origin="b80815bd4c", checked="."
    ),
    Package(name="rigno", repository="https://github.com/camlab-ethz/rigno", origin="3e4b307c90", checked="."),
    Package(
        name="JaxPM",
        repository="https://github.com/DifferentiableUniverseInitiative/JaxPM",
        origin="f8bc854f5f",
        checked=".",
    ),
    Package(name="jax_fdm", repository="https://github.com/arpastrana/jax_fdm", origin="71d449076d", checked="src"),
    Package(name="jax-dna", repository="https://github.com/rkruegs123/jax-dna", origin="e4abddeefe", checked="jax_dna"),
    Package(name="PDPO_jax", repository="https://github.com/SebasGutHdz/PDPO_jax", origin="da511b060b", checked="."),
    Package(
        name="cryojax-ensemble-optimization",
        repository="https://github.com/flatironinstitute/cryojax-ensemble-optimization",
        origin="a00fadd462",
        checked="src",
    ),
    Package(
        name="xlstm_jax", repository="https://github.com/thiomajid/xlstm_jax", origin="3999c9cb50", checked="xlstm_jax"
    ),
    Package(name="pgam_jax", repository="https://github.com/bagibence/pgam_jax", origin="f6fda48d2c", checked="src"),
    Package(
        name="myriad-jax", repository="https://github.com/robinhenry/myriad-jax", origin="0e583446cc", checked="src"
    ),
    Package(name="rbig_jax", repository="https://github.com/IPL-UV/rbig_jax", origin="8600f89790", checked="rbig_jax"),
    Package(
        name="PyElastica-JAX",
        repository="https://github.com/skim0119/PyElastica-JAX",
        origin="1e2144f6bd",
        checked="src",
    ),
    Package(name="jax_hf", repository="https://github.com/skilledwolf/jax_hf", origin="596fdd7cf3", checked="src"),
    Package(name="vggt_jax", repository="https://github.com/imgengineer/vggt_jax", origin="9a3bed45a2", checked="."),
    Package(
        name="alphafold3",
        repository="https://github.com/google-deepmind/alphafold3",
        origin="c0f97eda2f",
        checked="src",
    ),
    Package(
        name="ZMPY3D_JAX",
        repository="https://github.com/alexisiddiqui/ZMPY3D_JAX",
        origin="9fb1a9fd78",
        checked="ZMPY3D_JAX",
    ),
    Package(name="jax_scm", repository="https://github.com/mpierzyna/jax_scm", origin="6870643c4d", checked="src"),
    Package(
        name="flash_attn_jax",
        repository="https://github.com/nshepperd/flash_attn_jax",
        origin="75fce0fb66",
        checked="src",
    ),
    Package(
        name="multifil_jax",
        repository="https://github.com/travistune3/multifil_jax",
        origin="4552ed66d3",
        checked="multifil_jax",
    ),
    Package(name="jax-fli", repository="https://github.com/ASKabalan/jax-fli", origin="659abc6c99", checked="src"),
    Package(name="clam_jax", repository="https://github.com/aliang8/clam_jax", origin="b8c40cf51e", checked="clam"),
    Package(
        name="genjax-chi", repository="https://github.com/genjax-dev/genjax-chi", origin="49b62504d0", checked="src"
    ),
    Package(
        name="jax-research-template",
        repository="https://github.com/andnp/jax-research-template",
        origin="b1f9261d7d",
        checked="libs",
    ),
    Package(
        name="allen_v1_chen_2022_jax",
        repository="https://github.com/aod321/allen_v1_chen_2022_jax",
        origin="d6a63ffac6",
        checked=".",
    ),
    Package(name="jim", repository="https://github.com/kazewong/jim", origin="3d0116844d", checked="src"),
    Package(
        name="transformer_flow",
        repository="https://github.com/homerjed/transformer_flow",
        origin="25dd1d0150",
        checked=".",
    ),
    Package(name="lop-jax", repository="https://github.com/KevinGuo27/lop-jax", origin="52ae3eb070", checked="."),
    Package(
        name="qqn-jax", repository="https://github.com/SimiaCryptus/qqn-jax", origin="027fd9d6a7", checked="qqn_jax"
    ),
    Package(name="xpcsjax", repository="https://github.com/imewei/xpcsjax", origin="b810d8577a", checked="xpcsjax"),
    Package(
        name="foundry",
        repository="https://github.com/foundry-ai/foundry",
        origin="28fd2febb8",
        checked="packages",
    ),
    Package(name="splax", repository="https://github.com/learnsyslab/splax", origin="3272cc5c41", checked="splax"),
    Package(name="flumen-jax", repository="https://github.com/Marijn-dev/flumen-jax", origin="1e8f537644", checked="."),
    Package(
        name="jax-toolkit", repository="https://github.com/DavidSlayback/jax-toolkit", origin="44a419e579", checked="."
    ),
    Package(
        name="jax_playground",
        repository="https://github.com/Kaushalya/jax_playground",
        origin="bb0065c3c2",
        checked=".",
    ),
    Package(
        name="jax-attention", repository="https://github.com/wrsturgeon/jax-attention", origin="7d43c58cd2", checked="."
    ),
    Package(name="moxe", repository="https://github.com/thiomajid/moxe", origin="a2ea63fe3b", checked="."),
    Package(name="JAX-Wind", repository="https://github.com/moulin1024/JAX-Wind", origin="33d6eba895", checked="."),
    Package(name="paramax", repository="https://github.com/danielward27/paramax", origin="a2f9df6527", checked="."),
    Package(name="grl2-jax", repository="https://github.com/xlnwel/grl2-jax", origin="616f65a9dc", checked="."),
    Package(
        name="jax-gcm", repository="https://github.com/climate-analytics-lab/jax-gcm", origin="74d0156b6e", checked="."
    ),
    Package(name="robust_rl", repository="https://github.com/Jesperoka/robust_rl", origin="93415c29e2", checked="."),
    Package(name="chemtrain", repository="https://github.com/tummfm/chemtrain", origin="9cad115c71", checked="."),
    Package(name="S5", repository="https://github.com/kavorite/S5", origin="e70e9838ab", checked="."),
    Package(name="JaxGP", repository="https://github.com/pipme/JaxGP", origin="47888144b2", checked="."),
    Package(name="ncflow", repository="https://github.com/ddrous/ncflow", origin="8e7390d883", checked="."),
    Package(name="jaxfne", repository="https://github.com/HNXJ/jaxfne", origin="0bb8711970", checked="."),
    Package(name="jaxkern", repository="https://github.com/IPL-UV/jaxkern", origin="f41d9dde70", checked="."),
    Package(
        name="JaxTransformer",
        repository="https://github.com/voyager-jhk/JaxTransformer",
        origin="2caf36d278",
        checked=".",
    ),
    Package(
        name="functional-transformer",
        repository="https://github.com/awf/functional-transformer",
        origin="2181ecb322",
        checked=".",
    ),
    Package(name="distreqx", repository="https://github.com/lockwo/distreqx", origin="544d83f128", checked="."),
    Package(name="eqxvision", repository="https://github.com/paganpasta/eqxvision", origin="7da790c7bf", checked="."),
    Package(name="llama-jax", repository="https://github.com/stickshift/llama-jax", origin="17f2491f65", checked="."),
    Package(
        name="llama-2-jax", repository="https://github.com/ayaka14732/llama-2-jax", origin="6bb19056f2", checked="."
    ),
    Package(
        name="infodynamics-jax",
        repository="https://github.com/cjrogerlo/infodynamics-jax",
        origin="048d7ceabb",
        checked=".",
    ),
    Package(name="ssm-jax", repository="https://github.com/lindermanlab/ssm-jax", origin="3ee7580d09", checked="."),
    Package(name="goal-jax", repository="https://github.com/alex404/goal-jax", origin="4b957a6468", checked="."),
    Package(
        name="nano-vllm-jax",
        repository="https://github.com/LiquidGunay/nano-vllm-jax",
        origin="a43ef9f9ac",
        checked=".",
    ),
    Package(
        name="world-models-jax",
        repository="https://github.com/Sha01in/world-models-jax",
        origin="445392478f",
        checked=".",
    ),
    Package(
        name="multi_modal_transformers_TokenMerge",
        repository="https://github.com/maggieHao/multi_modal_transformers_TokenMerge",
        origin="00aeb82671",
        checked="multi_modal_transformers",
    ),
    Package(
        name="sfincs_jax",
        repository="https://github.com/uwplasma/sfincs_jax",
        origin="d1b2ce4e13",
        checked="sfincs_jax",
    ),
    Package(name="jaxstro", repository="https://github.com/jaxstro/jaxstro", origin="99274ee086", checked="src"),
    Package(
        name="fesom_jax", repository="https://github.com/koldunovn/fesom_jax", origin="0383a176df", checked="fesom_jax"
    ),
    Package(name="motep_jax", repository="https://github.com/sebastian57/motep_jax", origin="9fb15529bf", checked="."),
    Package(name="moscot", repository="https://github.com/theislab/moscot", origin="89a7936314", checked="src"),
    Package(name="play_jax", repository="https://github.com/kelechi-c/play_jax", origin="c3dc285d48", checked="."),
    Package(name="kalman-jax", repository="https://github.com/AaltoML/kalman-jax", origin="f15e5ae128", checked="."),
    Package(
        name="JaxDiffusion", repository="https://github.com/sandreza/JaxDiffusion", origin="de1e82d6b0", checked="."
    ),
    Package(name="diffusionjax", repository="https://github.com/bb515/diffusionjax", origin="24fb2c8ee0", checked="."),
    Package(
        name="nonparametric-nonrenewal-process",
        repository="https://github.com/davindicode/nonparametric-nonrenewal-process",
        origin="e97f041a38",
        checked=".",
    ),
    Package(name="chebfunjax", repository="https://github.com/ma-gilles/chebfunjax", origin="5e2cf60fd0", checked="."),
    Package(
        name="mamba_fast_simple",
        repository="https://github.com/Vadimbuildercxx/mamba_fast_simple",
        origin="1e2d6d1be2",
        checked=".",
    ),
    Package(
        name="jax-monohull-dynamics",
        repository="https://github.com/hctomkins/jax-monohull-dynamics",
        origin="743f3da419",
        checked=".",
    ),
    Package(name="gpt-jax", repository="https://github.com/jenkspt/gpt-jax", origin="f22a46e81e", checked="."),
    Package(name="nanoGPT-jax", repository="https://github.com/cgarciae/nanoGPT-jax", origin="24fd60f987", checked="."),
    Package(name="kira", repository="https://github.com/Artur-Galstyan/kira", origin="556c611a10", checked="."),
    Package(name="Odisseo", repository="https://github.com/vepe99/Odisseo", origin="11ca1282f6", checked="."),
    Package(name="purejaxrl", repository="https://github.com/luchris429/purejaxrl", origin="31756b1977", checked="."),
    Package(name="jax-resnet", repository="https://github.com/n2cholas/jax-resnet", origin="5b00735aa0", checked="."),
    Package(name="jax_trainer", repository="https://github.com/phlippe/jax_trainer", origin="f749d342d0", checked="."),
    Package(name="interpax", repository="https://github.com/f0uriest/interpax", origin="caa4a2ce26", checked="."),
    Package(name="TransCan", repository="https://github.com/ayaka14732/TransCan", origin="6fbdf8fc4a", checked="."),
    Package(name="viso_jax", repository="https://github.com/joefarrington/viso_jax", origin="0da656023a", checked="."),
    Package(name="scaling_jax", repository="https://github.com/chanb/scaling_jax", origin="60ad3b2fb0", checked="."),
    Package(name="vmc_jax", repository="https://github.com/markusschmitt/vmc_jax", origin="1696354644", checked="."),
    Package(name="jax_flow", repository="https://github.com/knanxu/jax_flow", origin="9ff68b543f", checked="."),
    Package(name="DIFFICE_jax", repository="https://github.com/YaoGroup/DIFFICE_jax", origin="0af8ea5945", checked="."),
    Package(
        name="Titans_jax", repository="https://github.com/andrew-veriga/Titans_jax", origin="1680b817a7", checked="."
    ),
    Package(name="jax_mppi", repository="https://github.com/riccardo-enr/jax_mppi", origin="cb9e7b6a20", checked="."),
    Package(
        name="jax-noprop",
        repository="https://github.com/bayesianempirimancer/jax-noprop",
        origin="a2bc2aed49",
        checked=".",
    ),
    Package(
        name="world-models-jax",
        repository="https://github.com/Sha01in/world-models-jax",
        origin="445392478f",
        checked=".",
    ),
    Package(name="ReAct_Jax", repository="https://github.com/neel04/ReAct_Jax", origin="831619afd6", checked="."),
)

# The environment that the verdicts were read with (Python 3.12), for all packages together. What needs TensorFlow or
# PyTorch stays unreached there.
REQUIREMENTS = (
    "jax==0.12.0.1 flax dm-haiku equinox optax chex jaxtyping tfp-nightly distrax jraph jmp dm-tree ml_collections "
    "absl-py einops pytest hypothesis gin-config h5py networkx pandas scipy scikit-learn matplotlib seaborn sympy "
    "attrs biopython boto3 huggingface_hub multipledispatch jaxopt lineax diffrax dynamax numba tridiax jaxley-mech "
    "clu grain xarray zarr dask pydantic deprecated sentencepiece pyarrow python-frontmatter jaxline pyscf folx "
    "blackjax jax-tqdm bayesian-optimization regex transformers tokenizers tensorboardX grpcio netCDF4 ase "
    "frozendict pymatgen e3nn_jax optree aqtp pint tree_math dm_env "
    "gymnasium esquilax pytest-mock rlax nir elements ninjax portal coloredlogs "
    "git+https://github.com/google-deepmind/kfac-jax igraph jeig pytreeclass gdstk drone-models drone-controllers "
    "array-api-compat casadi multimethod e3j tqdm-loggable immutabledict einshape lazy_loader objax control "
    "git+https://github.com/mjendrusch/flexloop"
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One finding of the data file.

    `content` is the hash that baselines use (code, text of the line, claim); `occurrence` counts equal ones in one
    file. So a row is found again where its line has moved. `line` and `message` are for the reader. `reported` says
    whether the finding stood in the last run that was written down.
    """

    package: str
    path: str
    line: int
    code: str
    claim: str
    message: str
    content: str
    occurrence: int
    verdict: str = "unjudged"
    reported: str = "yes"
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes it the same finding."""
        return self.package, self.path, self.content, self.occurrence

    def __str__(self) -> str:
        return f"{self.package} {self.path}:{self.line}: {self.code} {self.message}"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run over a package gave: its findings, the counts of claims, how long it took, whether it was cut."""

    package: str
    rows: tuple[Row, ...]
    claims: Mapping[str, int]
    seconds: float
    cut: int


@dataclass(kw_only=True)
class Comparison:
    """The rows of some runs beside those of the data file."""

    unjudged: list[Row] = field(default_factory=list)
    returned: list[Row] = field(default_factory=list)
    lost: list[Row] = field(default_factory=list)
    gone: list[Row] = field(default_factory=list)
    """False and debatable ones that are not reported any more."""
    judged: list[Row] = field(default_factory=list)
    """All that the runs reported, with the verdicts of the data file."""


def read_report(package: str, report: Mapping[str, object], seconds: float, run_in: Path) -> Run:
    """Take what we compare out of a JSON report; `run_in` is the folder that its paths start from."""
    rows: list[Row] = []
    seen: Counter[tuple[str, str]] = Counter()
    lines: dict[str, list[str]] = {}
    for finding in _objects(report["findings"]):
        if finding["severity"] == "note":
            continue
        path, number = str(finding["path"]), int(str(finding["line"]))
        if path not in lines:
            lines[path] = source_lines(run_in / path)
        text = lines[path][number - 1] if 0 < number <= len(lines[path]) else ""
        claim = str(finding["claimed"] or "")
        content = line_digest(str(finding["code"]), text, claim)
        rows.append(
            Row(
                package=package,
                path=path,
                line=number,
                code=str(finding["code"]),
                claim=one_line(claim),
                message=one_line(str(finding["message"]).partition("\n")[0]),
                content=content,
                occurrence=seen[path, content],
            )
        )
        seen[path, content] += 1
    claims = report["claims"]
    tests = report.get("tests") or {}
    assert isinstance(claims, dict)
    assert isinstance(tests, dict)
    cut = int(tests.get("cut", 0)) + sum("--budget" in str(entry["reason"]) for entry in _objects(report["entries"]))
    return Run(package=package, rows=tuple(rows), claims=claims, seconds=seconds, cut=cut)


def _objects(values: object) -> list[dict[str, object]]:
    """A list of objects in a JSON report."""
    assert isinstance(values, list)
    return values


def line_digest(code: str, line: str, claim: str) -> str:
    """Hash a finding by what `shapecheck.verdicts.baseline.content` hashes, from the report's plain values."""
    return digest(code, " ".join(line.split()), " ".join(claim.split()))


def source_lines(path: Path) -> list[str]:
    """The lines of a file; none where there is no such file any more."""
    return path.read_text("utf-8", errors="replace").splitlines() if path.is_file() else []


def one_line(text: str) -> str:
    """A text for one cell of the data file: no tabs, no line ends."""
    return " ".join(text.split())


def still_in_source(row: Row, run_in: Path) -> bool:
    """Whether the line and the claim of a row are in the source that was checked (it may be of another commit)."""
    return any(line_digest(row.code, line, row.claim) == row.content for line in source_lines(run_in / row.path))


def compare(known: Iterable[Row], runs: Sequence[Run], in_source: Mapping[str, Path]) -> Comparison:
    """Hold runs against the data file; `in_source` names, for each package, the folder its paths start from.

    A true row is lost if its line still stands there and nothing is reported of it. Rows of packages that were not
    run say nothing.
    """
    by_key = {row.key: row for row in known}
    result = Comparison()
    reported = set()
    for run in runs:
        for row in run.rows:
            reported.add(row.key)
            before = by_key.get(row.key)
            if before is None:
                result.unjudged.append(row)
                result.judged.append(row)
                continue
            result.judged.append(replace(row, verdict=before.verdict, why=before.why, reported=before.reported))
            if before.verdict == "unjudged":
                result.unjudged.append(row)
            elif before.verdict == "false" and before.reported == "no":
                result.returned.append(replace(row, why=before.why))
    ran = {run.package for run in runs}
    for row in by_key.values():
        if row.package not in ran or row.key in reported:
            continue
        if row.verdict == "true":
            if still_in_source(row, in_source[row.package]):
                result.lost.append(row)
        elif row.reported == "yes":
            result.gone.append(row)
    return result


def updated(known: Sequence[Row], runs: Sequence[Run]) -> list[Row]:
    """The rows to write down: verdicts stay, lines and messages follow the source, new rows are unjudged.

    A true row that is lost stays `reported`, so that it goes on to be missed; a false one that is gone does not, so
    that it shows when it comes back.
    """
    ran = {run.package for run in runs}
    now = {row.key: row for run in runs for row in run.rows}
    rows = []
    for row in known:
        seen = now.pop(row.key, None)
        if seen is not None:
            rows.append(replace(seen, verdict=row.verdict, why=row.why))
        elif row.package in ran and row.verdict != "true":
            rows.append(replace(row, reported="no"))
        else:
            rows.append(row)
    return sorted([*rows, *now.values()], key=lambda row: (row.package, row.path, row.line, row.code, row.key))


def read_data(path: Path) -> list[Row]:
    """The rows of the data file; no file is no rows."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        raw = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = []
    for cells in raw:
        numbers = {"line": int(cells.pop("line")), "occurrence": int(cells.pop("occurrence"))}
        row = Row(**cells, **numbers)  # type: ignore[arg-type]  # a column too many or too few is an error here
        if row.verdict not in VERDICTS:
            raise SystemExit(f"{path}: {row.verdict!r} is no verdict: {', '.join(VERDICTS)} ({row})")
        if row.verdict != "unjudged" and not row.why:
            raise SystemExit(f"{path}: a verdict needs its reason in the column `why` ({row})")
        rows.append(row)
    return rows


def write_data(path: Path, rows: Iterable[Row]) -> None:
    """Write the data file whole."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(column.name for column in fields(Row)) + "\n")
        for row in rows:
            file.write("\t".join(str(value) for value in asdict(row).values()) + "\n")


def check(
    package: Package, sources: Path, python: Path, budget: float, kept: Path, options: Sequence[str] = ()
) -> None:
    """Run shapecheck over one package, as a user would, from its checkout, and keep the report and the seconds."""
    command = [sys.executable, "-m", "shapecheck", "check", package.checked, "--python", str(python), *options]
    command += ["--jobs", "1", "--budget", str(budget), "--no-cache", "--quiet", "--output-format", "json"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=run_folder(package, sources), capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    try:
        report = json.loads(done.stdout)
    except ValueError:
        print(f"{package.name}: no report, exit status {done.returncode}\n{done.stderr[-2000:]}", file=sys.stderr)
        kept.unlink(missing_ok=True)
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"seconds": round(seconds, 1), "report": report}), "utf-8")


def run_folder(package: Package, sources: Path) -> Path:
    """The folder that a package is checked from, and that its paths start from."""
    return sources / (package.run_in or package.name)


def download(package: Package, sources: Path) -> None:
    """Unpack what PyPI has of a package into the sources: the source distribution, or else the wheel."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", f"{package.name}=={package.origin}"]
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([*pip, "--no-binary", ":all:", "-d", folder], check=False).returncode:
            subprocess.run([*pip, "-d", folder], check=True)
        (archive,) = Path(folder).iterdir()
        unpacked = Path(folder) / "unpacked"
        if archive.suffix == ".whl":
            shutil.unpack_archive(archive, unpacked, format="zip")
            inside = unpacked
        else:
            shutil.unpack_archive(archive, unpacked, filter="data")
            (inside,) = unpacked.iterdir()
        shutil.move(inside, sources / package.name)


HEAD = (
    "| package | commit or version | findings | true | debatable | false | unjudged | claims verified | s |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(packages: Sequence[Package], runs: Sequence[Run], judged: Iterable[Row]) -> str:
    """One line a package, and their sum."""
    verdicts = Counter((row.package, row.verdict) for row in judged)
    origins = {package.name: package.origin for package in packages}
    lines = [HEAD]
    for run in runs:
        counts = [verdicts[run.package, verdict] for verdict in VERDICTS]
        lines.append(_line(run.package, origins.get(run.package, ""), counts, run.claims, run.seconds))
    counts = [sum(verdicts[run.package, verdict] for run in runs) for verdict in VERDICTS]
    claims = {key: sum(run.claims[key] for run in runs) for key in ("verified", "total")}
    lines.append(_line("all", "", counts, claims, sum(run.seconds for run in runs)))
    return "\n".join(lines)


def _line(name: str, origin: str, counts: Sequence[int], claims: Mapping[str, int], seconds: float) -> str:
    cells = [name, origin, sum(counts), *counts, f"{claims['verified']} of {claims['total']}", f"{seconds:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def tell(result: Comparison, runs: Sequence[Run]) -> None:
    """Print what somebody has to look at."""
    cut = {run.package: run.cut for run in runs if run.cut}
    for row in result.unjudged:
        print(f"not judged: {row}")
    for row in result.returned:
        print(f"false, and came back: {row}\n    {row.why}")
    now = {(row.package, row.path, row.line): row for row in result.unjudged}
    for row in result.lost:
        print(f"true, and lost: {row}\n    {row.why}")
        if row.package in cut:
            print(f"    the budget cut {cut[row.package]} tests or entries of this package")
        other = now.get((row.package, row.path, row.line))
        if other is not None:
            print(f"    that line has a new finding: {other.code} {other.message}")
    for row in result.gone:
        print(f"{row.verdict}, and gone: {row}")


def main() -> int:
    """Do what the command line says; the exit status is in the docstring of the module."""
    options = _parser().parse_intermixed_args()
    chosen = [p for p in PACKAGES if not options.packages or p.name in options.packages]
    if unknown := set(options.packages) - {p.name for p in PACKAGES}:
        raise SystemExit(f"no such package: {', '.join(sorted(unknown))}; `list` names them")
    if options.command == "list":
        for package in chosen:
            get = f"git clone {package.repository} DIR/{package.name} && git -C DIR/{package.name} checkout"
            print(f"pip download {package.name}=={package.origin}" if package.on_pypi else f"{get} {package.origin}")
        print(f"pip install {REQUIREMENTS}")
        return 0
    status = 0
    sources: Path = options.sources.resolve()
    with tempfile.TemporaryDirectory() as folder:
        reports: Path = options.reports or Path(folder)
        runs = []
        for package in chosen:
            kept = reports / f"{package.name}.json"
            if options.command == "run":
                if options.download and package.on_pypi and not (sources / package.name).exists():
                    download(package, sources)
                own = options.environments and options.environments / package.name / "bin" / "python"
                python = own if own and own.is_file() else options.python
                check(package, sources, python.absolute(), options.budget, kept.absolute())
            if not kept.is_file():
                print(f"{package.name}: no report", file=sys.stderr)
                status = 2
                continue
            read = json.loads(kept.read_text("utf-8"))
            runs.append(read_report(package.name, read["report"], read["seconds"], run_folder(package, sources)))
    known = read_data(options.data)
    result = compare(known, runs, {package.name: run_folder(package, sources) for package in chosen})
    tell(result, runs)
    print(table(chosen, runs, result.judged))
    if options.update:
        write_data(options.data, updated(known, runs))
    return status or int(bool(result.returned or result.lost))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["list", "run", "compare"])
    parser.add_argument("packages", nargs="*", help="only these; by default all")
    parser.add_argument("--sources", type=Path, default=Path(), metavar="DIR", help="a checkout per package")
    parser.add_argument("--reports", type=Path, metavar="OUT", help="where the JSON reports are kept, or stand")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="the interpreter that has the packages' dependencies",
    )
    parser.add_argument("--environments", type=Path, metavar="E", help="E/NAME/bin/python is taken where it exists")
    parser.add_argument("--download", action="store_true", help="get from PyPI what it has and DIR has not")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for each package")
    parser.add_argument("--data", type=Path, default=DATA, help="the file with the verdicts")
    parser.add_argument("--update", action="store_true", help="write new findings and moved lines into it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
