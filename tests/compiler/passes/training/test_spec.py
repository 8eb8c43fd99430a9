"""The text of `--train`, parsed."""

from __future__ import annotations

import pytest

from mote.base.errors import MoteError
from mote.compiler.passes.training.spec import Auto, ChosenLayers, Learner, Spec, parsed


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("last", ChosenLayers(items=("last",))),
        (" biases , 7 ", ChosenLayers(items=("biases", "7"))),
        ("conv:0,model/dense;add", ChosenLayers(items=("conv:0", "model/dense;add"))),
        (
            "conv:0:optimizer=adam, rate=1e-3,decay=.01,accumulate=4",
            ChosenLayers(items=("conv:0",), optimizer="adam", rate=0.001, decay=0.01, accumulate=4),
        ),
        (
            "last:momentum=0.9,seed=0,loss=mean_squared_error",
            ChosenLayers(items=("last",), momentum=0.9, loss="mean_squared_error"),
        ),
        ("4:recompute=3", ChosenLayers(items=("4",), recompute=3)),
        ("4:recompute=0", ChosenLayers(items=("4",), recompute=0)),
        ("auto:RAM=64K,CYCLES=2000000,rate=2", Auto(ram=65536, cycles=2000000, rate=2.0)),
        ("auto:flash=12K", Auto(flash=12288)),
        (
            "prototype:classes=3,features=conv:0,pool=max",
            Learner(kind="prototype", classes=3, features="conv:0", pool="max"),
        ),
        ("knn:neighbors=5,metric=cosine", Learner(kind="knn", options={"neighbors": 5.0, "metric": "cosine"})),
        ("one-class", Learner(kind="one-class")),
    ],
)
def test_texts_are_parsed(text: str, spec: Spec) -> None:
    assert parsed(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        *("last", "biases,7:rate=0.5,seed=3", "4:recompute=0", "4:accumulate=4,recompute=3"),
        *("auto:RAM=65536,CYCLES=2000000,rate=2", "auto:FLASH=12288", "one-class"),
        *("prototype:classes=3,features=conv:0,pool=max", "knn:neighbors=5,metric=cosine", "ridge:penalty=0.25"),
    ],
)
def test_what_is_parsed_has_its_text(text: str) -> None:
    assert str(parsed(text)) == text and hash(parsed(text)) == hash(parsed(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "item is empty"),
        ("last,,biases", "item is empty"),
        ("last:rat=1", "did you mean: rate"),
        ("last:ram=1", "no setting 'ram'"),
        ("last:rate=1,momentum", "'momentum' is not a setting"),
        ("last:rate=1,rate=2", "`rate` is set twice"),
        ("last:rate=0", "rate is '0'"),
        ("last:rate=nan", "rate is 'nan'"),
        ("last:rate=1e999", "rate is '1e999'"),
        ("last:rate=1e39", "rate is '1e39'"),
        ("last:rate=1e-60", "rate is '1e-60'"),
        ("last:decay=-0.1", "decay is '-0.1'"),
        ("last:momentum=1", "momentum is '1'"),
        ("last:accumulate=0", "accumulate is '0'"),
        ("last:recompute=-1", "recompute is '-1'"),
        ("last:seed=-1", "seed is '-1'"),
        ("last:optimizer=adagrad", "no optimizer 'adagrad'"),
        ("last:loss=hinge", "no loss 'hinge'"),
        ("auto", "no budget"),
        ("auto:rate=1", "no budget"),
        ("auto:RAM=lots", "RAM is not a size"),
        ("auto,last:RAM=1K", "`auto` stands alone"),
        ("last,knn", "`knn` stands alone"),
        ("prototype:classes=many", "classes is 'many'"),
        ("prototype:pool=min", "no pool 'min'"),
    ],
)
def test_wrong_texts_are_explained(text: str, reason: str) -> None:
    with pytest.raises(MoteError) as error:
        parsed(text)
    assert reason in str(error.value)
    assert error.value.where == "option train"
    assert error.value.remedy


def test_learning_rates_are_the_optimizers_unless_stated() -> None:
    specs = [parsed(text) for text in ("last", "last:optimizer=adam", "last:rate=0.5")]
    assert [spec.learning_rate for spec in specs if isinstance(spec, ChosenLayers)] == [0.01, 0.001, 0.5]
